"""``torch.cuda.nvtx``: ranges and marks for NVIDIA's tools (Nsight Systems and Compute), which cost next to nothing
unless one is attached. The library is looked for at the first use, and needs no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _C

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_cuda = _C._cuda


def range_push(msg: str) -> int:
    """Opens a range inside the one that this thread is in; returns how many were around it."""
    return _cuda.range_push(msg)


def range_pop() -> int:
    """Closes the innermost range; returns how many are around it."""
    return _cuda.range_pop()


def range_start(msg: str) -> int:
    """Opens a range that any thread may close, with the number that is returned."""
    return _cuda.range_start(msg)


def range_end(range_id: int) -> None:
    """Closes what :func:`range_start` opened."""
    _cuda.range_end(range_id)


def mark(msg: str) -> None:
    """Marks a moment."""
    _cuda.mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a ``with`` block or a function; the other arguments are for ``msg.format``."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
