"""Marks for a vendor's profiler that cannot be attached here: every call says so, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class AbsentMarks:
    """The functions of such a profiler's module."""

    def __init__(self, message: str) -> None:
        self._message = message

    def range_push(self, msg: str) -> None:
        """Opens a range."""
        raise RuntimeError(self._message)

    def range_pop(self) -> None:
        """Closes the innermost range."""
        raise RuntimeError(self._message)

    def mark(self, msg: str) -> None:
        """Marks a moment."""
        raise RuntimeError(self._message)

    def range_start(self, msg: str) -> None:
        """Opens a range that any thread may close."""
        raise RuntimeError(self._message)

    def range_end(self, range_id: int) -> None:
        """Closes what :meth:`range_start` opened."""
        raise RuntimeError(self._message)

    @contextmanager
    def range(self, msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
        """A range around a ``with`` block."""
        self.range_push(msg.format(*args, **kwargs))
        yield
