"""``torch._C._profiler.gather_traceback``: where a program is, as frames that are described when somebody asks."""

from __future__ import annotations

import sys
from typing import Any

from .. import _C


class _Traceback:
    """The frames of a moment, the innermost first: the code and the line of each."""

    def __init__(self, frame: Any) -> None:
        self.frames: list[tuple[Any, int]] = []
        while frame is not None:
            self.frames.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back


def gather_traceback(python: bool = True, script: bool = False, cpp: bool = False) -> _Traceback:
    """The frames of Python; there is no TorchScript, and C++ frames are not looked at."""
    return _Traceback(sys._getframe(1) if python else None)


def symbolize_tracebacks(tracebacks: list[_Traceback]) -> list[list[dict[str, Any]]]:
    """File, line and name of each frame."""
    return [
        [{"filename": code.co_filename, "line": line, "name": code.co_name} for code, line in each.frames]
        for each in tracebacks
    ]


setattr(_C._profiler, "gather_traceback", gather_traceback)  # noqa: B010 - PyTorch's place for them
setattr(_C._profiler, "symbolize_tracebacks", symbolize_tracebacks)  # noqa: B010
