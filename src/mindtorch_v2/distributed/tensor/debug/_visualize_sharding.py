"""Which device has which part of a tensor, as a table of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._api import DTensor
from .._redistribute import local_shape_and_offset

_Span = tuple[int, int]  # first and last


def visualize_sharding(dtensor: DTensor, header: str = "", use_rich: bool = False) -> None:
    """Prints rows and columns of a tensor of one or two dimensions with the devices that have them.

    The first process of the mesh prints, ``header`` before the table. Nothing is printed of an empty tensor.
    """
    if use_rich:
        raise NotImplementedError("visualize_sharding(use_rich): there is a table of text; leave it out")
    if dtensor.numel() == 0:
        return
    if dtensor.dim() not in (1, 2):
        raise RuntimeError("visualize sharding supports only 1D or 2D DTensor")
    place = dtensor.device_mesh.get_coordinate()
    if place is None or any(place):
        return
    cells: dict[tuple[_Span, _Span], list[str]] = {}
    for spans, device in _parts(dtensor):
        cells.setdefault(spans, []).append(str(device))
    rows, columns = (sorted({spans[at] for spans in cells}) for at in (0, 1))
    kind = dtensor.device_mesh.device_type
    table = [["", *(f"Col {first}-{last}" for first, last in columns)]]
    for row in rows:
        devices = [",".join(cells.get((row, column), [])) for column in columns]
        table.append([f"Row {row[0]}-{row[1]}", *(f"{kind}:{each}" if each else "" for each in devices)])
    print("\n".join([*([header] if header else []), *_lines(table)]))


def _parts(dtensor: DTensor) -> Iterator[tuple[tuple[_Span, _Span], int]]:
    """The rows and columns of each process of the mesh, and its number."""
    mesh = dtensor.device_mesh
    for number in range(mesh.size()):
        left = number
        place: list[int] = []
        for dim in reversed(range(mesh.ndim)):
            left, at = divmod(left, mesh.size(dim))
            place.insert(0, at)
        sizes, begins = local_shape_and_offset(dtensor.shape, mesh, dtensor.placements, place)
        spans = [(begin, begin + size - 1) for size, begin in zip(sizes, begins, strict=True)]
        rows, columns = spans if len(spans) == 2 else (spans[0], (0, 0))
        yield (rows, columns), int(mesh.mesh.reshape(-1)[number].item())


def _lines(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as they need, two spaces between them, and a line below the first row."""
    wide = [
        max(len(column[0]) + 2, *(len(cell) for cell in column[1:])) for column in zip(*table, strict=True)
    ]
    for number, row in enumerate(table):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip()
        if number == 0:
            yield "  ".join("-" * width for width in wide)
