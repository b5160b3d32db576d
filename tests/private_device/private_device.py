"""``torch.<name>`` of the device made of the host, from the parts that all devices share."""

from __future__ import annotations

from typing import Any, ClassVar

from mindtorch_v2 import _C
from mindtorch_v2._devices import graphs, memory_functions, module_parts, pools, streams

_native = _C._privateuseone
_settings = pools.PoolSettings(("PRIVATE_ALLOC_CONF",), {}, lambda: "this driver cannot map memory")


def _type() -> str:
    return _C._get_privateuse1_backend_name()


def _index(device: Any) -> int:
    if device is None:
        return int(_native.current_device())
    if isinstance(device, int):
        return device
    index = _C.device(device).index
    return int(_native.current_device()) if index is None else int(index)


# --- devices ---


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return bool(_native.is_initialized())


def _is_in_bad_fork() -> bool:
    return bool(_native.is_in_bad_fork())


def device_count() -> int:
    return int(_native.device_count())


def current_device() -> int:
    return int(_native.current_device())


def set_device(device: Any) -> None:
    _native.set_device(_index(device))


def synchronize(device: Any = None) -> None:
    _native.synchronize_device(_index(device))


def mem_get_info(device: Any = None) -> tuple[int, int]:
    return _native.memory_info(_index(device))


class device(module_parts.DeviceContextBase):
    _native: ClassVar[Any] = _native
    _index = staticmethod(_index)


class Graph(graphs.Graph):
    _type = "privateuseone"


# --- streams and events ---


class Event(streams.DeviceEvent):
    _native: ClassVar[Any] = _native
    _type = "privateuseone"
    _index = staticmethod(_index)


class Stream(streams.DeviceStream):
    _native: ClassVar[Any] = _native
    _type = "privateuseone"
    _event_class = Event
    _index = staticmethod(_index)


_streams = streams.StreamFunctions(Stream)
stream = _streams.stream
current_stream = _streams.current_stream
default_stream = _streams.default_stream


# --- memory ---


class Allocator(pools.DeviceAllocator):
    device_type = "privateuseone"
    settings = _settings
    no_caching_variable = "PRIVATE_NO_CACHING"


class PinnedPool(pools.DevicePinnedPool):
    device_type = "privateuseone"
    settings = _settings


_pools = pools.DevicePools(_native, Allocator, PinnedPool)
_memory = memory_functions.MemoryFunctions("Private", _native, _pools, _index, device_count)
memory_stats = _memory.memory_stats
memory_allocated = _memory.memory_allocated
max_memory_allocated = _memory.max_memory_allocated
memory_reserved = _memory.memory_reserved
memory_summary = _memory.memory_summary
memory_snapshot = _memory.memory_snapshot
reset_peak_memory_stats = _memory.reset_peak_memory_stats
empty_cache = _memory.empty_cache
pin_memory = _memory.pin_memory


# --- random numbers ---


_random = module_parts.RandomFunctions("privateuseone", _native, _index, device_count)
manual_seed_all = _random.manual_seed_all


def get_amp_supported_dtype() -> list[Any]:
    return [_C.float16, _C.bfloat16]
