"""``torch.cuda.nvtx``: marks for NVIDIA's profiler, which cannot be attached here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _missing() -> None:
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def range_push(msg: str) -> None:
    """Opens a range."""
    _missing()


def range_pop() -> None:
    """Closes the innermost range."""
    _missing()


def mark(msg: str) -> None:
    """Marks a moment."""
    _missing()


def range_start(msg: str) -> None:
    """Opens a range that any thread may close."""
    _missing()


def range_end(range_id: int) -> None:
    """Closes what :func:`range_start` opened."""
    _missing()


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a ``with`` block."""
    range_push(msg.format(*args, **kwargs))
    yield
