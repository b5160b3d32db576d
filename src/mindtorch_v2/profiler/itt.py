"""``torch.profiler.itt``: marks for Intel's VTune, which cannot be attached here."""

from __future__ import annotations

from .._devices.absent_marks import AbsentMarks

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]

_marks = AbsentMarks("ITT functions not installed. Are you sure you have a ITT build?")
mark, range, range_pop, range_push = _marks.mark, _marks.range, _marks.range_pop, _marks.range_push


def is_available() -> bool:
    """Whether marks reach VTune: never."""
    return False
