"""``torch.profiler.itt``: marks for Intel's VTune, which cannot be attached here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """Whether marks reach VTune: never."""
    return False


def _missing() -> None:
    raise RuntimeError("ITT functions not installed. Are you sure you have a ITT build?")


def range_push(msg: str) -> None:
    """Opens a range."""
    _missing()


def range_pop() -> None:
    """Closes the innermost range."""
    _missing()


def mark(msg: str) -> None:
    """Marks a moment."""
    _missing()


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a ``with`` block."""
    range_push(msg.format(*args, **kwargs))
    yield
