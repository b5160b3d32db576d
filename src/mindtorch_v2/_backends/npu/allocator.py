"""The NPU's memory pools: the native caching allocator with the device calls it needs as Python attributes.

The native pool is the truth. It calls ``_raw_malloc``, ``_raw_free``, ``_mem_get_info``, ``_sync_device``,
``_record_event``, ``_event_complete`` and ``_release_event`` by attribute when it grows, shrinks or waits for
another stream, and never when a cached block fits; so a program or a test may replace them on an object.
"""

from __future__ import annotations

import difflib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import _C
from ..._devices import memory as _memory
from . import acl_loader

_native = _C._allocator

# The first of these that is set counts.
_CONF_VARIABLES = (
    "MINDTORCH_NPU_ALLOC_CONF",
    "PYTORCH_NPU_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
)

# Keys of PyTorch and torch_npu that programs set and that change nothing here.
_WITHOUT_EFFECT = {
    "base_addr_aligned_kb": "every segment begins at a page of its own",
    "graph_capture_record_stream_reuse": "graphs of operators cannot be captured",
    "page_size": "AscendCL chooses the pages, huge ones first",
    "pin_memory_expandable_segments": "pinned memory comes in blocks of their own",
    "pinned_free_catch_all": "an error of the driver is always reported",
    "pinned_mem_register": "AscendCL allocates pinned memory itself",
    "pinned_num_register_threads": "AscendCL allocates pinned memory itself",
    "pinned_reserve_segment_size_mb": "pinned memory comes in blocks of their own",
    "pinned_use_background_threads": "finished copies are looked for when memory is asked for, without waiting",
    "pinned_use_cuda_host_register": "AscendCL allocates pinned memory itself",
    "pinned_use_hip_host_register": "AscendCL allocates pinned memory itself",
}

_NO_CACHING = "PYTORCH_NO_NPU_MEMORY_CACHING"  # set and not 0: every tensor asks the device

_MALLOC_HUGE_FIRST = 0  # ACL_MEM_MALLOC_HUGE_FIRST
_EVENT_COMPLETE = 1  # ACL_EVENT_RECORDED_STATUS_COMPLETE

_lock = threading.RLock()
_conf: Any = None  # the parsed configuration, an AllocConf
_conf_source: tuple[str, str] = (_CONF_VARIABLES[0], "")
_allocators: dict[int, NpuAllocator] = {}
_pinned_pool: NpuPinnedPool | None = None
# Called with every allocator before its first use: who watches, or replaces, the memory of all devices.
_prepare: list[Callable[[NpuAllocator], None]] = []
stacks = _memory.StackTable()


# --- configuration --------------------------------------------------------------------------------------


def _read_conf() -> tuple[str, str]:
    for name in _CONF_VARIABLES:
        text = os.environ.get(name)
        if text:
            return name, text
    return _CONF_VARIABLES[0], ""


def _warn(text: str) -> None:
    """A warning at the line outside this package whose allocation asked for the settings."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_memory.PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


def _warn_unknown_keys(source: str, unknown: list[str]) -> list[str]:
    """Warns of keys without effect; the others, with what they may be misspellings of, are returned."""
    known = _native.alloc_conf_keys()
    described = []
    for key in unknown:
        if key in _WITHOUT_EFFECT:
            _warn(f"{source}: {key} has no effect: {_WITHOUT_EFFECT[key]}.")
        else:
            close = difflib.get_close_matches(key, known, n=1)
            described.append(f"'{key}'" + (f" (did you mean '{close[0]}'?)" if close else ""))
    return described


def _current_conf(force: bool = False) -> Any:
    global _conf, _conf_source
    with _lock:
        if _conf is None or force:
            source, text = _read_conf()
            conf = _native.parse_alloc_conf(text, source)
            _conf, _conf_source = conf, (source, text)
            if unknown := _warn_unknown_keys(source, conf.unknown):
                known = ", ".join(_native.alloc_conf_keys())
                _warn(f"{source}: unknown key {', '.join(unknown)} ignored. Known keys: {known}.")
        return _conf


def _conf_for_device() -> Any:
    """The configuration, without what the device in use cannot do."""
    conf = _current_conf()
    if conf.expandable_segments and not _has_virtual_memory():
        conf.expandable_segments = False
        _warn(
            f"{_conf_source[0]}: expandable_segments:True has no effect; this AscendCL cannot map memory "
            "behind reserved addresses, so segments have a fixed size."
        )
    return conf


def _has_virtual_memory() -> bool:
    return acl_loader.find() is not None and bool(_C._npu.has_virtual_memory())


def apply_settings(text: str) -> None:
    """Replaces the settings, in the text form of the environment variable, of all allocators there are and will be."""
    global _conf, _conf_source
    with _lock:
        source = "allocator settings"
        conf = _native.parse_alloc_conf(text, source)
        if unknown := _warn_unknown_keys(source, conf.unknown):
            known = ", ".join(_native.alloc_conf_keys())
            raise ValueError(f"{source}: unknown key {', '.join(unknown)}. Known keys: {known}.")
        _conf, _conf_source = conf, (_CONF_VARIABLES[0], text)
        for allocator in _allocators.values():
            allocator._native.configure(_conf_for_device())
            allocator._conf_source = _conf_source
        if _pinned_pool is not None:
            _pinned_pool._native.configure(conf)


def _load_alloc_conf(force: bool = False) -> dict[str, Any]:
    """The settings given in the environment. They are read once; ``force`` reads them again, for allocators
    made afterwards."""
    return dict(_current_conf(force).values)


def _reset_alloc_conf_for_test() -> None:
    global _conf
    with _lock:
        _conf = None


# --- views of the native pool ---------------------------------------------------------------------------


@dataclass
class Block:
    """A cached piece of memory, as ``NpuAllocator._cached[pool]`` holds them. Stream None is the default."""

    ptr: int
    size: int
    requested: int
    pool: str
    stream: int | None


class _Statistics(MutableMapping[str, int]):
    """The native counters by name. Writing sets the counter itself."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def __getitem__(self, key: str) -> int:
        if key not in _STAT_NAMES:
            raise KeyError(key)
        return int(self._native.stat(key))

    def __setitem__(self, key: str, value: int) -> None:
        self._native.set_stat(key, value)

    def __delitem__(self, key: str) -> None:
        raise TypeError("allocator statistics cannot be deleted; set them to 0 instead")

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(_STAT_NAMES))

    def __len__(self) -> int:
        return len(_STAT_NAMES)


_STAT_NAMES = frozenset(_native.stat_names())


class _CachedBlocks(Sequence[Block]):
    """The free blocks of one pool, by stream, size and address."""

    def __init__(self, native: Any, pool: str) -> None:
        self._native = native
        self._pool = pool

    def _blocks(self) -> list[Block]:
        return [
            Block(ptr, size, 0, self._pool, stream or None)
            for ptr, size, stream in self._native.cached_blocks(self._pool)
        ]

    def __len__(self) -> int:
        return len(self._native.cached_blocks(self._pool))

    def __getitem__(self, index: Any) -> Any:
        return self._blocks()[index]

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks())

    def append(self, block: Block) -> None:
        """Takes over memory of the device as a cached segment of its own."""
        self._native.adopt(block.ptr, block.size, block.stream, self._pool)


# --- device memory --------------------------------------------------------------------------------------


class _Event:
    """An ACL event that returns to the pool of its allocator when the uses it marks are over."""

    __slots__ = ("device", "handle")

    def __init__(self, handle: int, device: int) -> None:
        self.handle = handle
        self.device = device


class _AclHooks:
    """The device calls of a memory pool, through ``runtime.acl``."""

    def __init__(self, device_id: int) -> None:
        self.device_id = device_id
        self._spare_events: dict[int, list[_Event]] = {}

    def _acl(self, device: int | None = None) -> Any:
        """The rt part of pyACL, with a device (this pool's) current on the calling thread."""
        from . import runtime

        runtime.get_runtime(self.device_id if device is None else device).activate()
        return runtime.acl.rt

    @staticmethod
    def _check(code: int, function: str) -> None:
        from . import runtime

        # Without advice: what helps against a full device depends on the pools, which say it themselves.
        runtime.check(code, function, advice=False)

    def _sync_device(self) -> None:
        """Waits for all streams of the device, then lets the runtime free what it deferred."""
        from . import runtime

        self._check(self._acl().synchronize_device(), "aclrtSynchronizeDevice")
        runtime.get_runtime(self.device_id).synchronize()

    def _mem_get_info(self) -> tuple[int, int]:
        from . import runtime

        return runtime.mem_get_info(self.device_id)

    def _device_of(self, stream: int) -> int:
        """The device of a stream that used the memory; the stream may belong to another one than the memory."""
        return int(_C._npu.stream_device(stream)) if stream else self.device_id

    # The caller is about to launch on the device that is active, so another one is active only inside.

    def _record_event(self, stream: int) -> Any:
        active, device = _C._npu.active_device(), self._device_of(stream)
        rt = self._acl(device)
        spare = self._spare_events.setdefault(device, [])
        try:
            if spare:
                event = spare.pop()
            else:
                handle, code = rt.create_event()
                self._check(code, "aclrtCreateEventExWithFlag")
                event = _Event(handle, device)
            code = rt.record_event(event.handle, stream)
            if code != 0:
                spare.append(event)
                self._check(code, "aclrtRecordEvent")
            return event
        finally:
            self._activate_again(active, device)

    def _event_complete(self, event: Any) -> bool:
        active = _C._npu.active_device()
        status, code = self._acl(event.device).query_event_status(event.handle)
        self._activate_again(active, event.device)
        self._check(code, "aclrtQueryEventStatus")
        return bool(status == _EVENT_COMPLETE)

    @staticmethod
    def _activate_again(device: int, instead_of: int) -> None:
        if device not in (-1, instead_of):
            _C._npu.open(device)

    def _release_event(self, event: Any) -> None:
        if isinstance(event, _Event):
            self._spare_events.setdefault(event.device, []).append(event)


class NpuAllocator(_AclHooks):
    """The caching allocator of one NPU. Addresses and streams are integers; stream None is the default."""

    def __init__(self, device_id: int = 0) -> None:
        super().__init__(device_id)
        conf = _conf_for_device()
        self._conf_source = _conf_source
        self._native = _native.CachingAllocator(self, device_id, conf, "NPU", _CONF_VARIABLES[0])
        self._stats = _Statistics(self._native)
        if os.environ.get(_NO_CACHING, "") not in ("", "0"):
            self._native.set_caching(False)
        self._cached = {pool: _CachedBlocks(self._native, pool) for pool in ("small_pool", "large_pool")}

    def _raw_malloc(self, size: int) -> tuple[int, int]:
        ptr, code = self._acl().malloc(size, _MALLOC_HUGE_FIRST)
        self._check(code, "aclrtMalloc")
        return ptr, size

    def _raw_free(self, ptr: int) -> None:
        self._check(self._acl().free(ptr), "aclrtFree")

    def _has_virtual_memory(self) -> bool:
        return _has_virtual_memory()

    def _reserve_addresses(self, size: int) -> int:
        return int(_C._npu.reserve_addresses(self.device_id, size))

    def _release_addresses(self, address: int) -> None:
        _C._npu.release_addresses(self.device_id, address)

    def _map_memory(self, address: int, size: int) -> int:
        return int(_C._npu.map_memory(self.device_id, address, size))

    def _unmap_memory(self, address: int, handle: int) -> None:
        _C._npu.unmap_memory(self.device_id, address, handle)

    def malloc(self, size: int, stream: int | None = None) -> int:
        """The address of at least ``size`` bytes for work on ``stream``; 0 for no bytes."""
        return self._native.malloc(size, stream)

    def free(self, ptr: int, stream: int | None = None) -> None:
        """Gives memory of :meth:`malloc` back. ``stream`` is one that used it, if not its own."""
        self._native.free(ptr, stream)

    def record_stream(self, ptr: int, stream: int | None) -> None:
        """Memory of :meth:`malloc` is used on ``stream``: after :meth:`free`, its reuse waits for that."""
        self._native.record_stream(ptr, stream)

    def empty_cache(self) -> None:
        """Gives every segment without live blocks back to the device."""
        self._native.empty_cache()

    @property
    def max_split_size(self) -> int:
        return self._native.max_split_size

    @max_split_size.setter
    def max_split_size(self, size: int) -> None:
        self._native.max_split_size = size

    def _maybe_collect_garbage(self) -> None:
        self._native.collect_garbage()

    def _enforce_memory_fraction(self, size: int) -> None:
        """Raises OutOfMemoryError if ``size`` more bytes would pass the limit of this process."""
        self._native.check_limit(size)

    def set_memory_fraction(self, fraction: float) -> None:
        """The part of the device's memory that this process may reserve, from 0 to 1."""
        self._native.set_memory_fraction(fraction)

    def get_memory_fraction(self) -> float:
        return float(self._native.settings()["per_process_memory_fraction"])

    def set_memory_limit(self, size: int | None) -> None:
        """The bytes that this process may reserve; None for no limit."""
        self._native.set_memory_limit(size)

    def memory_stats(self) -> dict[str, int]:
        """All counters, sorted by name, as ``torch.cuda.memory_stats`` names them; private pools add theirs."""
        stats = self._native.stats()
        if pools := self._native.reserved_by_pools():
            stats.update(_memory.flat({"reserved_bytes_by_private_pools": pools}))
        return dict(sorted(stats.items()))

    def reset_peak_memory_stats(self) -> None:
        self._native.reset_peak_stats()

    def reset_accumulated_memory_stats(self) -> None:
        self._native.reset_accumulated_stats()

    def record_memory_history(
        self,
        max_entries: int,
        with_stacks: bool = True,
        clear: bool = False,
        skip_actions: Sequence[str] = (),
    ) -> None:
        """Keeps the last ``max_entries`` actions, with the Python stacks that caused them; 0 stops."""
        self._native.record_history(max_entries, clear, list(skip_actions))
        recorder = stacks.capture if with_stacks and max_entries else None
        self._native.set_stack_recorder(recorder, stacks.describe)

    def set_out_of_memory_observer(self, observer: Any) -> None:
        """``observer(bytes, total, free)`` is called before an OutOfMemoryError is raised; None for nobody."""
        self._native.set_out_of_memory_observer(observer)

    def snapshot(self, include_traces: bool = True) -> dict[str, Any]:
        """Segments, blocks, history and settings of this device (see ``_memory.torch_snapshot``)."""
        result = _memory.complete_snapshot(self._native.snapshot(include_traces), self.device_id, stacks)
        source, text = self._conf_source
        result["settings"][source] = text
        return {"device": self.device_id, "allocator": "npu", **result}


def get_allocator(device: Any = None) -> NpuAllocator:
    """The allocator of a device (an index, a torch.device or None for device 0), made at the first call.

    Native code that needs a device's allocator calls this too, so there is one per device.
    """
    index = getattr(device, "index", device)
    index = 0 if index is None else int(index)
    with _lock:
        allocator = _allocators.get(index)
        if allocator is None:
            allocator = NpuAllocator(index)
            for prepare in _prepare:
                prepare(allocator)
            allocator._native.register("npu", index)
            _allocators[index] = allocator
        return allocator


# --- pinned host memory ---------------------------------------------------------------------------------


class NpuPinnedPool(_AclHooks):
    """Cached page-locked host memory, from which copies to the device are asynchronous."""

    def __init__(self, device_id: int = 0) -> None:
        super().__init__(device_id)
        self._native = _native.PinnedPool(self, _current_conf())

    def _raw_malloc(self, size: int) -> tuple[int, int]:
        active = _C._npu.active_device()
        ptr, code = self._acl().malloc_host(size)
        self._activate_again(active, self.device_id)
        self._check(code, "aclrtMallocHost")
        return ptr, size

    def _raw_free(self, ptr: int) -> None:
        active = _C._npu.active_device()
        code = self._acl().free_host(ptr)
        self._activate_again(active, self.device_id)
        self._check(code, "aclrtFreeHost")

    def _sync_device(self) -> None:
        """Waits for all streams of all devices: any of them may copy from pinned memory."""
        from . import runtime

        active, last = _C._npu.active_device(), -1
        for last in sorted(runtime._runtimes):
            self._check(self._acl(last).synchronize_device(), "aclrtSynchronizeDevice")
            runtime.get_runtime(last).synchronize()
        self._activate_again(active, last)

    def malloc(self, size: int) -> int:
        return self._native.malloc(size)

    def free(self, ptr: int) -> None:
        self._native.free(ptr)

    def record_stream(self, ptr: int, stream: int | None) -> None:
        """An asynchronous copy on ``stream`` reads or writes the memory at ``ptr``."""
        self._native.record_stream(ptr, stream or 0)

    def is_pinned(self, ptr: int) -> bool:
        return self._native.is_pinned(ptr)

    def empty_cache(self) -> None:
        self._native.empty_cache()

    def host_memory_stats(self) -> dict[str, int]:
        return _memory.flat(self._native.stats())

    def reset_peak_host_memory_stats(self) -> None:
        self._native.reset_peak_stats()

    def reset_accumulated_host_memory_stats(self) -> None:
        self._native.reset_accumulated_stats()


def get_pinned_pool() -> NpuPinnedPool:
    """The process's pool of pinned memory, made at the first call."""
    global _pinned_pool
    with _lock:
        if _pinned_pool is None:
            _pinned_pool = NpuPinnedPool()
        return _pinned_pool
