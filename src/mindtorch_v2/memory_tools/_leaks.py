"""What grows in a recorded history. A snapshot does not know the program's steps, nor who holds a tensor: for that,
``torch.<device>.memory.track_leaks`` watches the program itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from . import _lifetimes, _model
from ._replay import text_of

_PARTS = 6  # of the history; the first is the program's beginning
_LEAST_BLOCKS = 4


@dataclass
class Growth:
    """Memory of one line that is never given back and comes again and again."""

    line: str
    stack: _model.Stack
    blocks: int
    bytes: int
    by_part: list[int]  # blocks that stayed, by the part of the history that made them

    def __str__(self) -> str:
        return f"{text_of(self.bytes):>12} in {self.blocks} blocks that stayed, from {self.line}"


def leaks(snapshot: _model.Snapshot, device: int | None = None) -> list[Growth]:
    """The stacks whose allocations stay, in all later parts of the history. The most bytes come first."""
    chosen = snapshot.device(device)
    events = len(chosen.history)
    found = _lifetimes.lifetimes(snapshot, chosen)
    stays = (found.end == events) & (found.begin >= 0) & (found.category != _lifetimes.PARAMETERS)
    result = []
    for stack in numpy.unique(found.stack[stays]).tolist():
        rows = numpy.flatnonzero(stays & (found.stack == stack))
        if len(rows) < _LEAST_BLOCKS or not stack:
            continue
        parts = numpy.bincount(found.begin[rows] * _PARTS // events, minlength=_PARTS).tolist()
        if sum(part > 0 for part in parts[1:]) >= _PARTS - 2 and parts[-1]:
            frames = snapshot.stacks[stack]
            result.append(
                Growth(_model.place_of(frames), frames, len(rows), int(found.size[rows].sum()), parts)
            )
    return sorted(result, key=lambda growth: -growth.bytes)


def leaks_text(found: list[Growth]) -> str:
    if not found:
        return "nothing grows in this history"
    return "\n".join(["what comes again and again and stays:", *(str(growth) for growth in found)])
