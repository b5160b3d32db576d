"""``torch.cuda`` on a machine with an NVIDIA driver: devices, streams, events, memory, graphs and random numbers, from
the parts that all accelerators share."""

from __future__ import annotations

import sys
from typing import Any, ClassVar, NamedTuple

from .. import _C
from .._devices import graphs as _graphs
from .._devices import memory_functions as _memory_functions
from .._devices import memory_observers as _observers
from .._devices import memory_pools as _memory_pools
from .._devices import module_parts as _parts
from .._devices import pools as _pools
from .._devices import registry as _registry
from .._devices import streams as _streams
from ._absent import CudaError as CudaError
from ._kind import Cuda as _Cuda

_cuda = _C._cuda
_cuda.enable()

__all__ = [
    "AcceleratorError", "CUDAGraph", "CudaError", "Event", "ExternalStream", "OutOfMemoryError", "Stream",
    "StreamContext", "can_device_access_peer", "current_device", "current_stream", "default_stream", "device",
    "device_count", "device_of", "empty_cache", "get_arch_list", "get_device_capability", "get_device_name",
    "get_device_properties", "get_rng_state", "get_rng_state_all", "graph", "graph_pool_handle",
    "host_memory_stats", "init", "initial_seed", "ipc_collect", "is_available", "is_bf16_supported",
    "is_current_stream_capturing", "is_initialized", "is_tf32_supported", "make_graphed_callables", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_snapshot", "memory_stats",
    "memory_stats_as_nested_dict", "memory_summary", "reset_accumulated_memory_stats", "reset_peak_memory_stats",
    "seed", "seed_all", "set_device", "set_per_process_memory_fraction", "set_rng_state", "set_rng_state_all",
    "set_stream", "stream", "synchronize",
]  # fmt: skip

AcceleratorError = _C.AcceleratorError
OutOfMemoryError = _C.OutOfMemoryError
has_half = True
has_magma = False


def _index(device: Any) -> int:
    if device is None:
        return int(_cuda.current_device())
    if isinstance(device, int):
        return device
    found = _C.device(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return int(_cuda.current_device()) if found.index is None else int(found.index)


# --- devices --------------------------------------------------------------------------------------------------


def is_available() -> bool:
    """Whether there is a GPU that can be used."""
    return device_count() > 0


def device_count() -> int:
    """How many GPUs the driver counts."""
    return int(_cuda.probe())


def init() -> None:
    """Starts the driver. Everything else does it when needed."""
    _cuda.device_count()


_lazy_init = init


def is_initialized() -> bool:
    return bool(_cuda.is_initialized()) and not _is_in_bad_fork()


def _is_in_bad_fork() -> bool:
    return bool(_cuda.is_in_bad_fork())


def current_device() -> int:
    """The index of this thread's current device."""
    init()
    return int(_cuda.current_device())


def set_device(device: Any) -> None:
    """Makes a device this thread's current one. A negative number changes nothing."""
    if not (isinstance(device, int) and device < 0):
        _cuda.set_device(_index(device))


class device(_parts.DeviceContextBase):
    """Makes a device current inside a ``with`` block."""

    _native: ClassVar[Any] = _cuda
    _index = staticmethod(_index)


class device_of(device):
    """Makes the device of a tensor or storage current inside a ``with`` block; nothing for one on the CPU."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.device.type == "cuda" else None)


def synchronize(device: Any = None) -> None:
    """Waits for all streams of a device."""
    _cuda.synchronize_device(_index(device))


class _CudaDeviceProperties(NamedTuple):
    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    is_integrated: int
    is_multi_gpu_board: int
    max_threads_per_multi_processor: int
    warp_size: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int
    shared_memory_per_multiprocessor: int
    shared_memory_per_block_optin: int
    L2_cache_size: int
    clock_rate: int
    memory_clock_rate: int
    memory_bus_width: int
    pci_bus_id: int
    pci_device_id: int
    pci_domain_id: int
    uuid: str


# Numbers of CUDA's device attributes, in the order of the fields.
_ATTRIBUTES = {
    "major": 75, "minor": 76, "multi_processor_count": 16, "is_integrated": 18, "is_multi_gpu_board": 84,
    "max_threads_per_multi_processor": 39, "warp_size": 10, "regs_per_multiprocessor": 82,
    "shared_memory_per_block": 8, "shared_memory_per_multiprocessor": 81, "shared_memory_per_block_optin": 97,
    "L2_cache_size": 38, "clock_rate": 13, "memory_clock_rate": 36, "memory_bus_width": 37, "pci_bus_id": 33,
    "pci_device_id": 34, "pci_domain_id": 50,
}  # fmt: skip


def get_device_properties(device: Any = None) -> _CudaDeviceProperties:
    """Name, memory and sizes of a device."""
    import uuid

    init()
    index = _index(device)
    if not 0 <= index < device_count():
        raise AssertionError("Invalid device id")
    numbers = {name: _cuda.attribute(index, number) for name, number in _ATTRIBUTES.items()}
    return _CudaDeviceProperties(
        name=_cuda.device_name(index),
        total_memory=_cuda.total_memory(index),
        uuid=str(uuid.UUID(bytes=_cuda.device_uuid(index))),
        **numbers,
    )


def get_device_name(device: Any = None) -> str:
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    found = get_device_properties(device)
    return found.major, found.minor


def get_arch_list() -> list[str]:
    """The architectures that kernels can be compiled for here: those of the GPUs that there are."""
    capabilities = sorted({get_device_capability(i) for i in range(device_count())})
    return [f"sm_{major}{minor}" for major, minor in capabilities]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return including_emulation or get_device_capability() >= (8, 0)


def is_tf32_supported() -> bool:
    return get_device_capability() >= (8, 0)


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    return bool(_cuda.can_access_peer(_index(device), _index(peer_device)))


def ipc_collect() -> None:
    """Gives memory back that was lent to other processes and is not used any more."""
    import gc

    gc.collect()


# --- streams and events ---------------------------------------------------------------------------------------


class Event(_streams.DeviceEvent):
    """A mark in a stream of a GPU."""

    _native: ClassVar[Any] = _cuda
    _type = "cuda"
    _index = staticmethod(_index)

    @property
    def cuda_event(self) -> int:
        """The event's handle in CUDA; 0 before it is recorded."""
        return self._handle


class Stream(_streams.DeviceStream):
    """A queue of work on a GPU."""

    _native: ClassVar[Any] = _cuda
    _type = "cuda"
    _event_class = Event
    _index = staticmethod(_index)

    @property
    def cuda_stream(self) -> int:
        """The stream's handle in CUDA."""
        return self.native_handle


class ExternalStream(_streams.MadeElsewhere, Stream):
    """A stream that other code made and owns; ``stream_ptr`` is its CUDA handle."""


StreamContext = _streams.StreamContext
_stream_functions = _streams.StreamFunctions(Stream)
stream = _stream_functions.stream
set_stream = _stream_functions.set_stream
current_stream = _stream_functions.current_stream
default_stream = _stream_functions.default_stream
set_sync_debug_mode = _stream_functions.set_sync_debug_mode
get_sync_debug_mode = _stream_functions.get_sync_debug_mode


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """The stream behind a CUDA handle that other code made and owns."""
    return ExternalStream(data_ptr, device)


# --- memory ---------------------------------------------------------------------------------------------------

_WITHOUT_EFFECT = {
    "backend": "there is one allocator, this package's own",
    "pinned_use_cuda_host_register": "the driver allocates pinned memory itself",
    "pinned_num_register_threads": "the driver allocates pinned memory itself",
    "pinned_use_background_threads": "finished copies are looked for when memory is asked for, without waiting",
    "release_lock_on_cudamalloc": "the allocator never calls the driver under its lock",
}
_settings = _pools.PoolSettings(
    ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"), _WITHOUT_EFFECT, lambda: ""
)


class _Allocator(_pools.DeviceAllocator):
    device_type = "cuda"
    settings = _settings
    no_caching_variable = "PYTORCH_NO_CUDA_MEMORY_CACHING"


class _PinnedPool(_pools.DevicePinnedPool):
    device_type = "cuda"
    settings = _settings


_all_pools = _pools.DevicePools(_cuda, _Allocator, _PinnedPool)
_memory = _memory_functions.MemoryFunctions("CUDA", _cuda, _all_pools, _index, device_count)
memory_stats = _memory.memory_stats
memory_stats_as_nested_dict = _memory.memory_stats_as_nested_dict
memory_allocated = _memory.memory_allocated
max_memory_allocated = _memory.max_memory_allocated
memory_reserved = _memory.memory_reserved
memory_cached = _memory.memory_cached
max_memory_reserved = _memory.max_memory_reserved
max_memory_cached = _memory.max_memory_cached
reset_peak_memory_stats = _memory.reset_peak_memory_stats
reset_max_memory_allocated = _memory.reset_max_memory_allocated
reset_max_memory_cached = _memory.reset_max_memory_cached
reset_accumulated_memory_stats = _memory.reset_accumulated_memory_stats
memory_summary = _memory.memory_summary


def memory_snapshot(
    mempool_id: tuple[int, int] | None = None, include_traces: bool = True
) -> list[dict[str, Any]]:
    """The segments of all devices, or of one pool."""
    found = (_memory.memory_snapshot(index, mempool_id, include_traces) for index in _memory._in_use())
    return [segment for snapshot in found for segment in snapshot["segments"]]


set_per_process_memory_fraction = _memory.set_per_process_memory_fraction
get_per_process_memory_fraction = _memory.get_per_process_memory_fraction
_snapshot = _memory._snapshot
_dump_snapshot = _memory._dump_snapshot
_record_memory_history = _memory._record_memory_history
_told = _observers.MemoryObservers(_memory, _all_pools)
serve_watch = _told.serve_watch
track_leaks = _told.track_leaks
attach_out_of_memory_observer = _told.attach_out_of_memory_observer
_allocation_traceback = _memory._allocation_traceback
set_per_process_memory_limit = _memory.set_per_process_memory_limit
mem_get_info = _memory.mem_get_info
device_memory_used = _memory.device_memory_used
list_gpu_processes = _memory.list_gpu_processes
empty_cache = _memory.empty_cache
caching_allocator_alloc = _memory.caching_allocator_alloc
caching_allocator_delete = _memory.caching_allocator_delete
caching_allocator_enable = _memory.caching_allocator_enable
caching_allocator_disabled = _memory.caching_allocator_disabled
_set_allocator_settings = _memory._set_allocator_settings
_set_memory_metadata = _memory._set_memory_metadata
_get_memory_metadata = _memory._get_memory_metadata
pin_memory = _memory.pin_memory
host_memory_stats = _memory.host_memory_stats
host_memory_stats_as_nested_dict = _memory.host_memory_stats_as_nested_dict
reset_accumulated_host_memory_stats = _memory.reset_accumulated_host_memory_stats
reset_peak_host_memory_stats = _memory.reset_peak_host_memory_stats
host_empty_cache = _memory.host_empty_cache


class CUDAPluggableAllocator(_memory_pools.PluggableAllocator):
    """An allocator of a shared library: ``void* alloc(ssize_t size, int device, CUstream stream)`` and
    ``void free(void* ptr, ssize_t size, int device, CUstream stream)``."""


class MemPool(_memory_pools.MemPool):
    """Memory of its own for what is allocated inside ``use_mem_pool``. It goes back when the pool is gone and
    its tensors are."""

    _functions = _memory


_allocators = _memory_pools.AllocatorFunctions(_memory, MemPool)
use_mem_pool = _allocators.use_mem_pool
change_current_allocator = _allocators.change_current_allocator
get_allocator_backend = _allocators.get_allocator_backend


# --- graphs ---------------------------------------------------------------------------------------------------


class CUDAGraph(_graphs.Graph):
    """Work of a GPU that was captured and can be replayed."""

    _type = "cuda"


class graph(_graphs.capture):
    """``with torch.cuda.graph(g):`` — work inside is captured into ``g``."""

    _type = "cuda"
    default_capture_stream: ClassVar[Any] = None

    def __init__(
        self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"
    ) -> None:
        super().__init__(cuda_graph, pool, stream, capture_error_mode)
        self.cuda_graph = cuda_graph


def graph_pool_handle() -> tuple[int, int]:
    """The id of a new memory pool, for graphs that may share memory."""
    return _graphs.pool_handle()


def is_current_stream_capturing() -> bool:
    """Whether work on this thread's current stream is captured instead of run."""
    if not _cuda.is_initialized():
        return False
    index = _cuda.current_device()
    return bool(_cuda.stream_is_capturing(index, _cuda.current_stream(index)))


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Functions or modules whose forward and backward passes replay captured graphs."""
    from ..autograd import _graphed  # few programs need it

    device = _graphed.Device("cuda", sys.modules[__package__], CUDAGraph, graph, graph_pool_handle)
    return _graphed.make_graphed_callables(
        device, callables, sample_args, num_warmup_iters, allow_unused_input, pool
    )


# --- random numbers -------------------------------------------------------------------------------------------

_random = _parts.RandomFunctions("cuda", _cuda, _index, device_count)
manual_seed = _random.manual_seed
manual_seed_all = _random.manual_seed_all
seed = _random.seed
seed_all = _random.seed_all
initial_seed = _random.initial_seed
get_rng_state_all = _random.get_rng_state_all
set_rng_state_all = _random.set_rng_state_all


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of a device's generator, as a ByteTensor of seed and offset."""
    return _random.generator(device).get_state()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Restores a state of :func:`get_rng_state`."""
    _random.generator(device).set_state(new_state)


# --- mixed precision ------------------------------------------------------------------------------------------


def get_amp_supported_dtype() -> list[Any]:
    """The dtypes that ``torch.autocast("cuda")`` knows."""
    return [_C.float16, _C.bfloat16, _C.float32]


def __getattr__(name: str) -> Any:
    if name == "default_generators":
        return _random.generators()
    from ._rest import find  # needed seldom

    return find(name)


for _kind in (
    Event, Stream, ExternalStream, device, device_of, CUDAGraph, graph, MemPool, CUDAPluggableAllocator
):  # fmt: skip
    _kind.__module__ = __package__  # where people know them


def _register() -> None:
    """Makes the package the module of a kind of device; called at its end."""
    _registry.register_accelerator(_Cuda(sys.modules[__package__]))
