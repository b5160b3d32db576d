"""Memory of the accelerator of this machine."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ._device import index_of, module, require

__all__ = [
    "empty_cache", "empty_host_cache", "get_memory_info", "max_memory_allocated", "max_memory_reserved",
    "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]  # fmt: skip


def empty_cache() -> None:
    """Gives cached memory that no tensor uses back."""
    require().empty_cache()


def empty_host_cache() -> None:
    """Gives cached pinned memory back to the system."""
    require().host_empty_cache()


def memory_stats(device_index: Any = None, /) -> OrderedDict[str, Any]:
    """All counters of the caching allocator."""
    return OrderedDict(require().memory_stats(index_of(device_index)))


def memory_allocated(device_index: Any = None, /) -> int:
    """Bytes now in tensors."""
    return int(require().memory_allocated(index_of(device_index)))


def max_memory_allocated(device_index: Any = None, /) -> int:
    return int(require().max_memory_allocated(index_of(device_index)))


def memory_reserved(device_index: Any = None, /) -> int:
    """Bytes taken from the device, in tensors or cached."""
    return int(require().memory_reserved(index_of(device_index)))


def max_memory_reserved(device_index: Any = None, /) -> int:
    return int(require().max_memory_reserved(index_of(device_index)))


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    require().reset_accumulated_memory_stats(index_of(device_index))


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    require().reset_peak_memory_stats(index_of(device_index))


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Free and total bytes of the device, as the driver counts them."""
    free, total = require().mem_get_info(index_of(device_index))
    return free, total


def _snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """The state of all devices (or one) in PyTorch's schema."""
    found: dict[str, Any] = module()._snapshot(device)
    return found
