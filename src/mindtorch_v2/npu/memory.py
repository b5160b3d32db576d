"""Memory of the NPUs: statistics, snapshots, limits, pools, pinned memory. See ``docs/memory.md``."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from .. import _C
from .._backends.npu import acl_loader, allocator, creation
from .._backends.npu import runtime as _runtime
from .._devices import memory as _memory
from .._devices import memory_observers as _observers
from .._devices import module_parts as _parts
from .._devices import pools as _pools
from . import streams as _streams

__all__ = [
    "MemPool", "NPUPluggableAllocator", "attach_out_of_memory_observer", "caching_allocator_alloc",
    "caching_allocator_delete", "caching_allocator_disabled", "caching_allocator_enable",
    "change_current_allocator", "detach_out_of_memory_observer", "device_memory_used", "empty_cache",
    "empty_virt_addr_cache", "get_allocator_backend", "get_per_process_memory_fraction", "host_empty_cache",
    "host_memory_stats", "host_memory_stats_as_nested_dict", "is_pinned", "list_gpu_processes",
    "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated",
    "memory_cached", "memory_reserved", "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict",
    "memory_summary", "pin_memory", "reset_accumulated_host_memory_stats", "reset_accumulated_memory_stats",
    "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_host_memory_stats",
    "reset_peak_memory_stats", "serve_watch", "set_per_process_memory_fraction", "set_per_process_memory_limit",
    "track_leaks", "use_mem_pool",
]  # fmt: skip


def find_allocator(device: Any) -> Any:
    """The package replaces this by its ``_get_allocator``, looked up at each call, so that it can be replaced too."""
    raise NotImplementedError


_functions = _parts.MemoryFunctions(
    "NPU",
    get_allocator=lambda device: find_allocator(device),
    index_of=_runtime.device_index,
    in_use=lambda: sorted(allocator._allocators),
    count=acl_loader.device_count,
)
memory_stats = _functions.memory_stats
memory_stats_as_nested_dict = _functions.memory_stats_as_nested_dict
memory_allocated = _functions.memory_allocated
max_memory_allocated = _functions.max_memory_allocated
memory_reserved = _functions.memory_reserved
memory_cached = _functions.memory_cached
max_memory_reserved = _functions.max_memory_reserved
max_memory_cached = _functions.max_memory_cached
reset_peak_memory_stats = _functions.reset_peak_memory_stats
reset_max_memory_allocated = _functions.reset_max_memory_allocated
reset_max_memory_cached = _functions.reset_max_memory_cached
reset_accumulated_memory_stats = _functions.reset_accumulated_memory_stats
memory_summary = _functions.memory_summary
memory_snapshot = _functions.memory_snapshot
set_per_process_memory_fraction = _functions.set_per_process_memory_fraction
get_per_process_memory_fraction = _functions.get_per_process_memory_fraction
_snapshot = _functions._snapshot
_dump_snapshot = _functions._dump_snapshot
_record_memory_history = _functions._record_memory_history
_allocation_traceback = _functions._allocation_traceback


def set_per_process_memory_limit(size: int | None, device: Any = None) -> None:
    """The bytes of a device's memory that this process may reserve; None for no limit."""
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 0):
        raise ValueError(f"the limit is a number of bytes or None, but got {size!r}")
    find_allocator(device).set_memory_limit(size)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a device's memory, as the driver counts them."""
    return _runtime.mem_get_info(_runtime.device_index(device))


def device_memory_used(device: Any = None) -> int:
    """Bytes of a device's memory in use by all processes, as the driver counts them."""
    free, total = mem_get_info(device)
    return total - free


def list_gpu_processes(device: Any = None) -> str:
    """Who uses a device's memory, as far as AscendCL tells: this process, and the others together."""
    index = _runtime.device_index(device)
    own, used = memory_reserved(index), device_memory_used(index)
    lines = [f"NPU:{index}"]
    if not used:
        lines.append("no processes are running")
    if own:
        lines.append(f"process {os.getpid():>10d} uses {own / (1 << 20):>12.3f} MB NPU memory")
    if used > own:
        lines.append(f"the runtime and other processes use {(used - own) / (1 << 20):.3f} MB NPU memory")
    return "\n".join(lines)


def empty_cache() -> None:
    """Gives cached memory that no tensor uses back to the devices; in a fork it is not this process's to give."""
    if _C._npu.is_in_bad_fork():
        return
    for index in sorted(allocator._allocators):
        find_allocator(index).empty_cache()


def empty_virt_addr_cache() -> None:
    """Gives reserved addresses without memory back. :func:`empty_cache` does it already; so does this."""
    empty_cache()


# --- raw memory -----------------------------------------------------------------------------------------

_raw: dict[int, int] = {}  # the device of each address that caching_allocator_alloc handed out


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """The address of memory from the caching allocator, for use on a stream (the current one)."""
    if not isinstance(size, int) or size < 0:
        raise ValueError(f"caching_allocator_alloc wants a number of bytes, but got {size!r}")
    index = _runtime.device_index(device)
    if stream is None:
        stream = _streams.current_stream(index)
    if isinstance(stream, _streams.Stream):
        stream = stream.npu_stream
    if not isinstance(stream, int):
        raise TypeError(
            "Invalid type for stream argument, must be `torch.npu.Stream` or `int` representing a pointer to "
            "an existing stream"
        )
    _runtime.get_runtime(index)
    address = int(find_allocator(index).malloc(size, stream))
    if address:
        _raw[address] = index
    return address


def caching_allocator_delete(mem_ptr: int) -> None:
    """Gives memory of :func:`caching_allocator_alloc` back."""
    if mem_ptr == 0:
        return
    if mem_ptr not in _raw:
        raise RuntimeError(
            f"invalid device pointer: {mem_ptr:#x} was not handed out by caching_allocator_alloc"
        )
    find_allocator(_raw[mem_ptr]).free(mem_ptr)
    del _raw[mem_ptr]


def caching_allocator_enable(value: bool = True) -> None:
    """Switches caching on or off: without it, every tensor takes its memory from the device and returns it."""
    for index in sorted(allocator._allocators) or [_runtime.device_index(None)]:
        find_allocator(index)._native.set_caching(bool(value))


@contextlib.contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """No caching inside a ``with`` block."""
    indices = sorted(allocator._allocators) or [_runtime.device_index(None)]
    before = {index: find_allocator(index)._native.caching() for index in indices}
    caching_allocator_enable(False)
    try:
        yield
    finally:
        for index, on in before.items():
            find_allocator(index)._native.set_caching(on)


# --- other allocators and pools ---------------------------------------------------------------------------

_current_allocator: _NPUAllocator | None = None
_caching = allocator  # where an argument has its name


class _NPUAllocator:
    """Functions that hand memory out and take it back, as ``MemPool`` and ``change_current_allocator`` take them."""

    def __init__(self, functions: tuple[int, int] | None) -> None:
        self._functions = functions  # the addresses of the two functions, None for the caching allocator

    def allocator(self) -> _NPUAllocator:
        return self


class NPUPluggableAllocator(_NPUAllocator):
    """An allocator of a shared library: ``void* alloc(ssize_t size, int device, aclrtStream stream)`` and
    ``void free(void* ptr, ssize_t size, int device, aclrtStream stream)``."""

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        import ctypes  # slow to import, and seldom needed

        self._library = ctypes.CDLL(path_to_so_file)
        addresses = []
        for name in (alloc_fn_name, free_fn_name):
            function = getattr(self._library, name, None)
            if function is None:
                raise AttributeError(f"{path_to_so_file} has no function {name}")
            addresses.append(ctypes.cast(function, ctypes.c_void_p).value or 0)
        super().__init__((addresses[0], addresses[1]))


def _use_functions(made: allocator.NpuAllocator) -> None:
    if _current_allocator is not None and _current_allocator._functions is not None:
        made._native.set_caching(False, _current_allocator._functions)


def change_current_allocator(allocator: _NPUAllocator) -> None:
    """Makes an allocator serve all NPUs. Only before the first tensor on one; nothing is cached then."""
    global _current_allocator
    if not isinstance(allocator, _NPUAllocator):
        raise TypeError(f"expected an NPUPluggableAllocator, but got {type(allocator).__name__}")
    if _caching._allocators:
        raise RuntimeError("Can't swap an already initialized allocator")
    _current_allocator = allocator
    if _use_functions not in _caching._prepare:
        _caching._prepare.append(_use_functions)


def _get_current_allocator() -> _NPUAllocator:
    return _current_allocator or _NPUAllocator(None)


def get_allocator_backend() -> str:
    """ "native", or "pluggable" after :func:`change_current_allocator`."""
    return "native" if _current_allocator is None else "pluggable"


def _set_allocator_settings(env: str) -> None:
    """Changes the settings of ``MINDTORCH_NPU_ALLOC_CONF`` while the program runs."""
    allocator.apply_settings(env)


class MemPool:
    """Memory of its own for what is allocated inside ``use_mem_pool``. It goes back when the pool is gone and
    its tensors are."""

    def __init__(
        self, allocator: _NPUAllocator | None = None, use_on_oom: bool = False, no_split: bool = False
    ) -> None:
        if allocator is not None and not isinstance(allocator, _NPUAllocator):
            raise TypeError(f"MemPool wants an NPUPluggableAllocator or None, but got {allocator!r}")
        self._number = next(_pools.pool_numbers)
        self._kept: _NPUAllocator | None = allocator  # its library must stay loaded
        functions = allocator.allocator()._functions if allocator is not None else None
        self._options = (bool(use_on_oom), bool(no_split), functions)
        self._device = _runtime.device_index(None)
        self._devices: list[int] = []
        self._native(self._device).retain_pool(self._number, *self._options)
        self._devices.append(self._device)

    @staticmethod
    def _native(device: int) -> Any:
        return find_allocator(device)._native

    @property
    def id(self) -> tuple[int, int]:
        """The pool's id in snapshots."""
        return (0, self._number)

    @property
    def allocator(self) -> _NPUAllocator | None:
        return self._kept

    @property
    def device(self) -> int:
        return self._device

    def use_count(self) -> int:
        """How many hold the pool: this object, and each ``use_mem_pool`` that is inside."""
        return int(self._native(self._device).pool_users(self._number))

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        """The pool's segments on all its devices."""
        return [
            segment
            for device in self._devices
            for segment in memory_snapshot(device, self.id, include_traces)["segments"]
        ]

    def _enter(self, device: int) -> None:
        native = self._native(device)
        if device not in self._devices:
            native.retain_pool(self._number, *self._options)
            self._devices.append(device)
        native.begin_pool(self._number, *self._options)

    def _exit(self, device: int) -> None:
        self._native(device).end_pool(self._number)

    def __del__(self) -> None:
        if sys.is_finalizing() or _C._npu.is_in_bad_fork():
            return
        for device in getattr(self, "_devices", ()):
            native = self._native(device)
            native.release_pool(self._number)
            native.empty_pool(self._number)


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
    """This thread's allocations on a device (the current one) come from the pool inside a ``with`` block."""
    if not isinstance(pool, MemPool):
        raise TypeError(f"use_mem_pool wants a torch.npu.MemPool, but got {pool!r}")
    index = _runtime.device_index(device)
    pool._enter(index)
    try:
        yield
    finally:
        pool._exit(index)


# --- who is told --------------------------------------------------------------------------------------------

_told = _observers.MemoryObservers(_functions, allocator._all)
attach_out_of_memory_observer = _told.attach_out_of_memory_observer
detach_out_of_memory_observer = _told.detach_out_of_memory_observer
serve_watch = _told.serve_watch
track_leaks = _told.track_leaks


# --- labels -------------------------------------------------------------------------------------------------


def _set_memory_metadata(metadata: str) -> None:
    """A text that the history keeps with every allocation from now on."""
    if not isinstance(metadata, str):
        raise TypeError(f"metadata is a text, but got {type(metadata).__name__}")
    allocator.stacks.label = metadata


def _get_memory_metadata() -> str:
    return allocator.stacks.label


# --- pinned host memory -------------------------------------------------------------------------------------


def pin_memory(tensor: _C.Tensor) -> _C.Tensor:
    """A copy of a CPU tensor in pinned memory, from which copies with ``non_blocking=True`` do not wait."""
    return creation.pin_memory(tensor)


def is_pinned(tensor: Any) -> bool:
    """Whether a tensor lies in pinned host memory."""
    return creation.is_pinned(tensor)


def host_memory_stats() -> dict[str, Any]:
    """The counters of the pinned memory pool."""
    return dict(allocator.get_pinned_pool().host_memory_stats())


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    return _memory.nested(host_memory_stats())


def reset_accumulated_host_memory_stats() -> None:
    allocator.get_pinned_pool().reset_accumulated_host_memory_stats()


def reset_peak_host_memory_stats() -> None:
    allocator.get_pinned_pool().reset_peak_host_memory_stats()


def host_empty_cache() -> None:
    """Gives cached pinned memory back to the system."""
    allocator.get_pinned_pool().empty_cache()
