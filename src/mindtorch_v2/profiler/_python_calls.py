"""``with_stack=True``: calls of Python functions as events.

The native recorder looks at them through the interpreter's profile function, which is set only while recording
(``csrc/bindings/python_calls.h``). It is set for the threads that run; those that start later are told here.
"""

from __future__ import annotations

import functools
import re
import threading
from types import FrameType
from typing import Any

from .. import _C
from ._stacks import HIDDEN, shown

_native = _C._profiler
_native.hide_calls(HIDDEN)
_CALL = re.compile(r"(.*)\((\d+)\): (.*)", re.DOTALL)


class ThreadWatch:
    """While it is on, threads that start report their calls too."""

    def start(self) -> None:
        self._before: Any = threading.getprofile()
        if self._before is None:  # else another tool profiles them
            threading.setprofile(_join)

    def stop(self) -> None:
        if self._before is None:
            threading.setprofile(None)


def _join(frame: FrameType, event: str, argument: Any) -> None:
    """The first event of a new thread."""
    _native.watch_calls_here()


def module_number(name: str) -> int:
    """Of ``nn.Module: Linear_0``: which of the modules of its class it is."""
    return int(name.rpartition("_")[2])


@functools.lru_cache(maxsize=65536)
def call_name(recorded: str) -> str:
    """``file(line): function`` with the file as stacks show it; native functions as they are."""
    parts = _CALL.fullmatch(recorded)
    return f"{shown(parts[1])}({parts[2]}): {parts[3]}" if parts else recorded
