"""What ``torch.cuda`` consists of: functions and classes that say that there is no such device."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .._C import AcceleratorError as AcceleratorError
from .._C import OutOfMemoryError as OutOfMemoryError
from .._devices.absent import Absent as _Absent
from .._devices.absent import (
    device_count,
    empty_cache,
    get_arch_list,
    get_gencode_flags,
    get_rng_state_all,
    is_available,
    is_bf16_supported,
    is_current_stream_capturing,
    is_initialized,
    is_tf32_supported,
    manual_seed,
    manual_seed_all,
    memory_allocated,
    memory_stats,
    seed,
    seed_all,
    set_rng_state_all,
)
from .._devices.streams import Event as _EventBase
from .._devices.streams import Stream as _StreamBase

__all__ = [
    "AcceleratorError", "CUDAGraph", "CudaError", "Event", "ExternalStream", "MemPool", "OutOfMemoryError",
    "Stream", "StreamContext", "can_device_access_peer", "cudart", "current_device", "current_stream",
    "default_generators", "default_stream", "device", "device_count", "device_of", "empty_cache",
    "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties", "get_gencode_flags",
    "get_rng_state", "get_rng_state_all", "graph", "graph_pool_handle", "has_half", "has_magma",
    "host_memory_stats", "host_memory_stats_as_nested_dict", "init", "initial_seed", "ipc_collect",
    "is_available", "is_bf16_supported", "is_current_stream_capturing", "is_initialized", "is_tf32_supported",
    "make_graphed_callables", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved",
    "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "memory_summary",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats", "seed", "seed_all", "set_device",
    "set_per_process_memory_fraction", "set_rng_state", "set_rng_state_all", "set_stream", "stream",
    "synchronize",
]  # fmt: skip

_absent = _Absent("CUDA")

init = _lazy_init = _absent.function("init")
current_device = _absent.function("current_device")
set_device = _absent.function("set_device")
synchronize = _absent.function("synchronize")
get_device_name = _absent.function("get_device_name")
get_device_capability = _absent.function("get_device_capability")
get_device_properties = _absent.function("get_device_properties")
can_device_access_peer = _absent.function("can_device_access_peer")
current_stream = _absent.function("current_stream")
default_stream = _absent.function("default_stream")
set_stream = _absent.function("set_stream")
get_rng_state = _absent.function("get_rng_state")
set_rng_state = _absent.function("set_rng_state")
initial_seed = _absent.function("initial_seed")
mem_get_info = _absent.function("mem_get_info")
memory_summary = _absent.function("memory_summary")
memory_snapshot = _absent.function("memory_snapshot")
reset_peak_memory_stats = _absent.function("reset_peak_memory_stats")
reset_accumulated_memory_stats = _absent.function("reset_accumulated_memory_stats")
set_per_process_memory_fraction = _absent.function("set_per_process_memory_fraction")
ipc_collect = _absent.function("ipc_collect")
cudart = _absent.function("cudart")
make_graphed_callables = _absent.function("make_graphed_callables")
graph_pool_handle = _absent.function("graph_pool_handle")

memory_reserved = memory_cached = max_memory_allocated = memory_allocated
max_memory_reserved = max_memory_cached = memory_allocated
memory_stats_as_nested_dict = host_memory_stats = host_memory_stats_as_nested_dict = memory_stats

default_generators: tuple[Any, ...] = ()
has_half = True
has_magma = False

Stream = _absent.kind("Stream", __package__, _StreamBase)
ExternalStream = _absent.kind("ExternalStream", __package__, Stream)
Event = _absent.kind("Event", __package__, _EventBase)
CUDAGraph = _absent.kind("CUDAGraph", __package__)
MemPool = _absent.kind("MemPool", __package__)
graph = _absent.kind("graph", __package__)


class CudaError(RuntimeError):
    """An error of the CUDA runtime."""


class StreamContext(nullcontext[Any]):
    """Selects a stream inside a ``with`` block; only None can be selected, which changes nothing."""

    def __init__(self, stream: Any = None) -> None:
        super().__init__()
        if stream is not None:
            _absent.refuse()


def stream(stream: Any) -> AbstractContextManager[Any]:
    """A context that selects a stream; None changes nothing."""
    return StreamContext(stream)


class device(nullcontext[Any]):
    """Makes a device current inside a ``with`` block; only None and -1, which change nothing."""

    def __init__(self, device: Any = None) -> None:
        super().__init__()
        if device is not None and device != -1:
            _absent.refuse()


class device_of(device):
    """Makes the device of a tensor current inside a ``with`` block; nothing for one that is not on CUDA."""

    def __init__(self, obj: Any) -> None:
        super().__init__(None)


for _kind in (CudaError, StreamContext, device, device_of):
    _kind.__module__ = __package__  # where people know them


def _is_in_bad_fork() -> bool:
    """False: no process has used a device that is not there."""
    return False


def _register() -> None:
    """Nothing: there is no device."""


def __getattr__(name: str) -> Any:
    from ._rest import find  # needed seldom

    return find(name)
