"""Plans as text."""

from __future__ import annotations

from collections.abc import Sequence

from .cases import WAYS, Links
from .measure import Measured
from .memory import Purpose

_COLUMNS = (
    Purpose.PARAMETERS, Purpose.GRADIENTS, Purpose.OPTIMIZER, Purpose.ACTIVATIONS, Purpose.COMMUNICATION,
    Purpose.TEMPORARY,
)  # fmt: skip


def size(nbytes: float) -> str:
    """As people read it."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if nbytes < 1024 or unit == "GiB":
            return f"{nbytes:.0f} {unit}" if unit == "B" else f"{nbytes:.1f} {unit}"
        nbytes /= 1024
    raise AssertionError("not reached")


def duration(seconds: float) -> str:
    """As people read it."""
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    """Columns as wide as what is in them; the first ones begin on the left."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def memory_table(found: Sequence[Measured]) -> str:
    """Memory of a card, and what it sends, a line for each case."""
    rows = [
        ["way", "checkpoints", "cards", *(kind.name.lower() for kind in _COLUMNS), "peak", "sent", "time"]
    ]
    for each in found:
        case = each.case
        rows.append(
            [
                f"TP {case.together} x FSDP" if case.way == "tp_fsdp" else WAYS[case.way],
                "yes" if case.checkpointing else "no",
                f"{case.cards:,}",
                *(size(each.memory.each[kind]) for kind in _COLUMNS),
                size(each.memory.peak),
                size(each.sent),
                duration(each.seconds),
            ]
        )
    return aligned(rows, left=2)


def traffic_table(found: Sequence[Measured]) -> str:
    """Every kind of collective of a step."""
    rows = [["way", "collective", "cards", "of", "calls", "messages", "sent", "time"]]
    for each in found:
        for sort in each.traffic:
            name = WAYS[each.case.way]
            rows.append(
                [
                    name + (", checkpoints" if each.case.checkpointing else ""), sort.collective,
                    f"{each.case.cards:,}", f"{sort.cards:,}", f"{sort.calls:,}", size(sort.bytes), size(sort.sent),
                    duration(sort.seconds),
                ]
            )  # fmt: skip
    return aligned(rows, left=2)


def legend(links: Links) -> str:
    """What the numbers are."""
    return (
        "Measured on meta with the backend fake, for rank 0: the most bytes of each kind during a step, which need not "
        "fall\ntogether, and the most of all at once (peak). Messages: bytes given to the collectives.\n"
        f"Formulas: sent, what a card sends as rings do it (all_reduce 2(n-1)/n of a message, all_gather and "
        f"reduce_scatter\n(n-1)/n); time, sent over {links.inside:g} GB/s in a machine of {links.cards_per_machine} "
        f"cards and {links.between:g} GB/s between machines, nothing overlapped."
    )
