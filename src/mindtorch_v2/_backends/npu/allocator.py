"""The NPU's memory pools: its settings and where they come from. The pools themselves are those of every device."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._devices import pools as _pools
from . import acl_loader

Block = _pools.Block
stacks = _pools.stacks

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


def _cannot_grow() -> str:
    """Why segments cannot grow in place; empty where they can."""
    if acl_loader.find() is not None and _C._npu.has_virtual_memory():
        return ""
    return "this AscendCL cannot map memory behind reserved addresses"


# The first of these that is set counts.
_settings = _pools.PoolSettings(
    ("MINDTORCH_NPU_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"),
    _WITHOUT_EFFECT,
    _cannot_grow,
)


class NpuAllocator(_pools.DeviceAllocator):
    """The caching allocator of one NPU. Addresses and streams are integers; stream None is the default."""

    device_type = "npu"
    settings = _settings
    no_caching_variable = "PYTORCH_NO_NPU_MEMORY_CACHING"


class NpuPinnedPool(_pools.DevicePinnedPool):
    """Cached page-locked host memory, from which copies to the NPUs are asynchronous."""

    device_type = "npu"
    settings = _settings


_all = _pools.DevicePools(_C._npu, NpuAllocator, NpuPinnedPool)
_allocators: dict[int, NpuAllocator] = _all.allocators
_prepare = _all.prepare
get_allocator = _all.allocator
get_pinned_pool = _all.pinned_pool
apply_settings = _all.apply_settings


def _load_alloc_conf(force: bool = False) -> dict[str, Any]:
    """The settings given in the environment. They are read once; ``force`` reads them again, for allocators
    made afterwards."""
    return dict(_settings.current(force).values)


def _reset_alloc_conf_for_test() -> None:
    _settings.forget()
