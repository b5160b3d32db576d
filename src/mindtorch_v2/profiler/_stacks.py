"""Python stacks of events: numbers in the native trace, texts here."""

from __future__ import annotations

import functools
import os
import sys

from .. import _C

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
# The profiler's own files, which are no part of the picture.
HIDDEN = (
    os.path.join(_PACKAGE, "profiler", ""),
    os.path.join(_PACKAGE, "autograd", "profiler.py"),
)


@functools.lru_cache(maxsize=65536)
def stack_of(number: int) -> tuple[str, ...]:
    """``file(line): function``, the innermost first, without the package's own frames at the top and without
    the profiler's anywhere. Functions have the names that they were defined with, as in PyTorch."""
    frames = _C._profiler.stack(number)
    while frames and frames[0][0].startswith(_PACKAGE):
        frames = frames[1:]
    return tuple(
        f"{shown(file)}({line}): {function.rpartition('.')[2]}"
        for file, line, function in frames
        if not file.startswith(HIDDEN)
    )


@functools.lru_cache(maxsize=4096)
def shown(file: str) -> str:
    """The path from the entry of ``sys.path`` that it was imported from, as PyTorch shows it."""
    inside = [entry for entry in sys.path if entry and file.startswith(entry.rstrip(os.sep) + os.sep)]
    return file[len(max(inside, key=len).rstrip(os.sep)) + 1 :] if inside else file
