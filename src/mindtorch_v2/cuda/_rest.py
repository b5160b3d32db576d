"""The names of ``torch.cuda`` that programs mention and that need a device: each raises when it is used."""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

from .._absent import name_of
from .._devices.absent import Absent
from .._storage_typed import STORAGE_NAMES
from .._types.dtypes import LEGACY_NAMES

_cuda = Absent("CUDA")

_FUNCTIONS = frozenset(
    "caching_allocator_alloc caching_allocator_delete caching_allocator_disabled caching_allocator_enable "
    "change_current_allocator check_error clock_rate current_blas_handle current_solver_handle device_memory_used "
    "get_allocator_backend get_per_process_memory_fraction get_stream_from_external get_sync_debug_mode "
    "list_gpu_processes memory_usage power_draw reset_accumulated_host_memory_stats reset_max_memory_allocated "
    "reset_max_memory_cached reset_peak_host_memory_stats set_sync_debug_mode temperature use_mem_pool utilization "
    "CUDAPluggableAllocator _allocation_traceback _dump_snapshot _record_memory_history _set_allocator_settings "
    "_sleep _snapshot".split()
)
_TYPES = frozenset(STORAGE_NAMES.values()) | {
    f"{LEGACY_NAMES[dtype]}Tensor" for dtype in STORAGE_NAMES if not dtype.startswith("complex")
}


def _type(name: str) -> type:
    def refusing(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled.")

    def unavailable(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("Not available for CUDA storage")

    doc = f"Stands for PyTorch's torch.cuda.{name} in annotations and isinstance; making one raises."
    described: dict[str, Any] = {"__new__": refusing, "__doc__": doc, "__module__": "torch.cuda"}
    if name.endswith("Storage"):
        for method in ("from_buffer", "_new_with_weak_ptr", "_new_shared_filename"):
            described[method] = classmethod(unavailable)
    return type(name, (), described)


@cache
def find(name: str) -> Any:
    """The function or class of a name; an AttributeError for names that PyTorch does not have either."""
    if name in _FUNCTIONS:
        return _cuda.function(name)
    if name in _TYPES:
        return _type(name)
    return name_of(__package__, name)
