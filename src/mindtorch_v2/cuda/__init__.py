"""``torch.cuda``: no CUDA device is driven by this library, and this module says so as PyTorch without CUDA does."""

from __future__ import annotations

from typing import Any

from . import _absent, amp, memory, nvtx, profiler, random, streams
from ._absent import *  # noqa: F403
from ._absent import _is_in_bad_fork as _is_in_bad_fork
from ._absent import _lazy_init as _lazy_init

__all__ = [*_absent.__all__, "amp", "memory", "nvtx", "profiler", "random", "streams"]


def __getattr__(name: str) -> Any:
    return getattr(_absent, name)
