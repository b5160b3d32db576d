"""``torch.cuda``: NVIDIA's GPUs as devices where there is a driver; elsewhere what PyTorch without CUDA says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import amp, memory, nccl, nvtx, profiler, random, streams
from ._chosen import names as _names
from ._utils import _get_device_index as _get_device_index

if TYPE_CHECKING:
    from ._absent import *  # noqa: F403
else:
    globals().update({name: getattr(_names, name) for name in _names.__all__})

_is_in_bad_fork = _names._is_in_bad_fork
_lazy_init = _names._lazy_init
__all__ = [*_names.__all__, "amp", "memory", "nccl", "nvtx", "profiler", "random", "streams"]


def __getattr__(name: str) -> Any:
    if name == "_initialized":  # what programs that keep states of generators ask
        return _names.is_initialized()
    return getattr(_names, name)


_names._register()
