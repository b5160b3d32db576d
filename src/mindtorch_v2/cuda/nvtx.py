"""``torch.cuda.nvtx``: marks for NVIDIA's profiler, which cannot be attached here."""

from __future__ import annotations

from .._devices.absent_marks import AbsentMarks

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_marks = AbsentMarks("NVTX functions not installed. Are you sure you have a CUDA build?")
mark, range, range_pop, range_push = _marks.mark, _marks.range, _marks.range_pop, _marks.range_push
range_start, range_end = _marks.range_start, _marks.range_end
