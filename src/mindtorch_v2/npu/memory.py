"""Memory of the NPUs: statistics, snapshots, limits, pools, pinned memory. See ``docs/memory.md``."""

from __future__ import annotations

from typing import Any

from .. import _C
from .._backends.npu import acl_loader, allocator
from .._backends.npu import runtime as _runtime
from .._devices import memory_functions as _parts
from .._devices import memory_observers as _observers
from .._devices import memory_pools as _memory_pools

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


class _Functions(_parts.MemoryFunctions):
    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        """Free and total bytes of a device's memory, as its driver counts them."""
        return _runtime.mem_get_info(self._index_of(device))


_functions = _Functions(
    "NPU",
    _C._npu,
    allocator._all,
    _runtime.device_index,
    acl_loader.device_count,
    get_allocator=lambda device: find_allocator(device),
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
set_per_process_memory_limit = _functions.set_per_process_memory_limit
device_memory_used = _functions.device_memory_used
list_gpu_processes = _functions.list_gpu_processes
mem_get_info = _functions.mem_get_info
empty_cache = _functions.empty_cache
empty_virt_addr_cache = _functions.empty_cache  # gives reserved addresses without memory back, too
caching_allocator_alloc = _functions.caching_allocator_alloc
caching_allocator_delete = _functions.caching_allocator_delete
caching_allocator_enable = _functions.caching_allocator_enable
caching_allocator_disabled = _functions.caching_allocator_disabled
_set_allocator_settings = _functions._set_allocator_settings
_set_memory_metadata = _functions._set_memory_metadata
_get_memory_metadata = _functions._get_memory_metadata
pin_memory = _functions.pin_memory
is_pinned = _functions.is_pinned
host_memory_stats = _functions.host_memory_stats
host_memory_stats_as_nested_dict = _functions.host_memory_stats_as_nested_dict
reset_accumulated_host_memory_stats = _functions.reset_accumulated_host_memory_stats
reset_peak_host_memory_stats = _functions.reset_peak_host_memory_stats
host_empty_cache = _functions.host_empty_cache

_told = _observers.MemoryObservers(_functions, allocator._all)
attach_out_of_memory_observer = _told.attach_out_of_memory_observer
detach_out_of_memory_observer = _told.detach_out_of_memory_observer
serve_watch = _told.serve_watch
track_leaks = _told.track_leaks


class NPUPluggableAllocator(_memory_pools.PluggableAllocator):
    """An allocator of a shared library: ``void* alloc(ssize_t size, int device, aclrtStream stream)`` and
    ``void free(void* ptr, ssize_t size, int device, aclrtStream stream)``."""


class MemPool(_memory_pools.MemPool):
    """Memory of its own for what is allocated inside ``use_mem_pool``. It goes back when the pool is gone and
    its tensors are."""

    _functions = _functions


_allocators = _memory_pools.AllocatorFunctions(_functions, MemPool)
use_mem_pool = _allocators.use_mem_pool
change_current_allocator = _allocators.change_current_allocator
get_allocator_backend = _allocators.get_allocator_backend
_get_current_allocator = _allocators._get_current_allocator
