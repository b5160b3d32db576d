"""``torch.cuda.nvtx``: marks for NVIDIA's profiler, which cannot be attached here."""

from __future__ import annotations

from typing import NoReturn


def _missing() -> NoReturn:
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def range_push(msg: str) -> NoReturn:
    """Opens a range."""
    _missing()


def range_pop() -> NoReturn:
    """Closes the innermost range."""
    _missing()


def mark(msg: str) -> NoReturn:
    """Marks a moment."""
    _missing()


def range(msg: str) -> NoReturn:
    """A range around a ``with`` block."""
    _missing()
