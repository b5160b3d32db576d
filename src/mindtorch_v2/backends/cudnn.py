"""cuDNN's settings. There is no cuDNN here: they can be written and read, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"


def is_available() -> bool:
    """Whether cuDNN is there: no."""
    return False


def version() -> int | None:
    """cuDNN's version: None."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN can work on a tensor: never."""
    return False


@contextmanager
def flags(**settings: Any) -> Iterator[None]:
    """Sets some of the settings inside a ``with`` block."""
    here = globals()
    unknown = settings.keys() - {"enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32",
                                 "fp32_precision"}  # fmt: skip
    if unknown:
        raise TypeError(f"flags() got an unexpected keyword argument '{sorted(unknown)[0]}'")
    before = {name: here[name] for name in settings}
    here.update(settings)
    try:
        yield
    finally:
        here.update(before)
