"""cuDNN's settings. Where there is no cuDNN they can be written and read, and change nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from .. import _C

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"


def _library() -> Any:
    return next(found for found in _C._cuda.vendor_libraries() if found.title == "cuDNN")


def is_available() -> bool:
    """Whether cuDNN is there, and a GPU for it."""
    return "cuda" in _C._accelerator_types() and bool(_library().available)


def version() -> int | None:
    """cuDNN's version as a number, 91900 for 9.19; None where there is none."""
    if not is_available():
        return None
    numbers = [int(part) for part in (_library().version or "0").split(".")] + [0, 0]
    return numbers[0] * 10000 + numbers[1] * 100 + numbers[2]


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN can work on a tensor."""
    return bool(is_available() and tensor.is_cuda and tensor.is_floating_point())


class _Settings(ModuleType):
    """The module, which tells the library what it is told."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in _TOLD:
            _C._cuda.set_vendor_setting(_TOLD[name], bool(value))


_TOLD = {"allow_tf32": "tf32_convolutions", "benchmark": "benchmark", "deterministic": "deterministic"}
sys.modules[__name__].__class__ = _Settings


@contextmanager
def flags(**settings: Any) -> Iterator[None]:
    """Sets some of the settings inside a ``with`` block."""
    here = globals()
    unknown = settings.keys() - {"enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32",
                                 "fp32_precision"}  # fmt: skip
    if unknown:
        raise TypeError(f"flags() got an unexpected keyword argument '{sorted(unknown)[0]}'")
    before = {name: here[name] for name in settings}
    for name, value in settings.items():
        setattr(sys.modules[__name__], name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(sys.modules[__name__], name, value)
