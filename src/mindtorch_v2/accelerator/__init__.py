"""``torch.accelerator``: the accelerator of this machine, whichever it is."""

from __future__ import annotations

import warnings
from typing import Any

from .. import _C
from .._devices import registry
from . import memory as memory
from ._device import index_of, module, require
from .graphs import Graph as Graph
from .memory import (
    empty_cache as empty_cache,
)
from .memory import (
    empty_host_cache as empty_host_cache,
)
from .memory import (
    get_memory_info as get_memory_info,
)
from .memory import (
    max_memory_allocated as max_memory_allocated,
)
from .memory import (
    max_memory_reserved as max_memory_reserved,
)
from .memory import (
    memory_allocated as memory_allocated,
)
from .memory import (
    memory_reserved as memory_reserved,
)
from .memory import (
    memory_stats as memory_stats,
)
from .memory import (
    reset_accumulated_memory_stats as reset_accumulated_memory_stats,
)
from .memory import (
    reset_peak_memory_stats as reset_peak_memory_stats,
)

__all__ = [
    "Graph", "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "device_index", "empty_cache", "empty_host_cache", "get_device_capability", "get_memory_info", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index",
    "set_stream", "synchronize",
]  # fmt: skip

_DTYPES = (
    _C.uint8, _C.int8, _C.int16, _C.int32, _C.int64, _C.float16, _C.float32, _C.float64, _C.bfloat16, _C.bool,
    _C.complex64, _C.complex128,
)  # fmt: skip


def is_available() -> bool:
    """Whether there is an accelerator that can be used."""
    return registry.available() is not None


def device_count() -> int:
    """How many accelerators there are."""
    return int(module().device_count())


def current_accelerator(check_available: bool = False) -> _C.device | None:
    """The kind of accelerator there is, as a device without an index; None without one."""
    found = registry.available()
    return None if found is None else _C.device(found.type)


def current_device_index() -> int:
    """The index of this thread's current accelerator."""
    return int(require().current_device())


def current_device_idx() -> int:
    """The old name of :func:`current_device_index`."""
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=2)
    return current_device_index()


def set_device_index(device: Any, /) -> None:
    """Makes an accelerator this thread's current one. A negative index changes nothing."""
    require().set_device(index_of(device))


def set_device_idx(device: Any, /) -> None:
    """The old name of :func:`set_device_index`."""
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=2)
    set_device_index(device)


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """What the accelerator can do: the dtypes of its tensors."""
    found = require()
    with found.device(index_of(device)):
        supported = {dtype for dtype in _DTYPES if dtype != _C.bfloat16 or found.is_bf16_supported()}
    return {"supported_dtypes": supported}


def current_stream(device: Any = None, /) -> Any:
    """This thread's current stream on an accelerator."""
    return require().current_stream(index_of(device))


def set_stream(stream: Any) -> None:
    """Makes a stream, and its device, this thread's current ones."""
    require().set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Waits for all streams of an accelerator."""
    require().synchronize(index_of(device))


class device_index:
    """Makes an accelerator current inside a ``with`` block; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self._context = module().device(device)

    def __enter__(self) -> None:
        self._context.__enter__()

    def __exit__(self, *error: object) -> None:
        self._context.__exit__(*error)
