"""What kind of operator a row is, in PyTorch's words: ``torch.Tag``.

Most follows from families, from how vmap runs a row, and from its area; a row says the rest itself (``tags:``). What
a schema shows (that something is written) is no matter of the table: see ``_library/overloads.py``.
"""

from __future__ import annotations

from .row import Row

TAGS = (
    "pointwise", "reduction", "nondeterministic_seeded", "view_copy", "dynamic_output_shape", "inplace_view",
)  # fmt: skip
_RANDOM_AREAS = ("random", "dropout")


def of_rows(rows: list[Row]) -> dict[int, tuple[str, ...]]:
    """The tags of each row, by its identity."""
    pointwise = {row.schema.name for row in rows if row.batch == "elementwise"}
    return {id(row): tuple(tag for tag in TAGS if _has(row, tag, pointwise)) for row in rows}


def _has(row: Row, tag: str, pointwise: set[str]) -> bool:
    if tag in row.tags:
        return True
    if tag == "pointwise":
        # Made of others: an overload of what is pointwise, or a row of that area.
        composed = row.made_of_others and (row.schema.name in pointwise or row.area == "pointwise")
        return row.batch == "elementwise" or (composed and row.schema.return_type == "Tensor")
    if tag == "reduction":
        return row.family == "reduce"
    if tag == "nondeterministic_seeded":
        drawn = row.batch.startswith("draw") or row.area in _RANDOM_AREAS
        return drawn and not row.schema.name.endswith(("_backward", "_backward_data", "_grad"))
    if tag == "inplace_view":
        return row.area == "view" and row.family == "inplace"
    if tag == "view_copy":
        return row.schema.name.endswith("_copy") and row.area == "shape"
    return False
