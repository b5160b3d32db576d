"""``torch.npu``: the Ascend NPU as a device — streams, events, memory, properties, random numbers.

Importing this touches no driver; the first use of a device does. See ``docs/npu.md``.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, NamedTuple

from . import _C, _device_module
from . import profiler as profiler
from ._backends.npu import acl_loader, allocator, creation
from ._backends.npu import runtime as _runtime

_npu = _C._npu

OutOfMemoryError = _C.OutOfMemoryError

_CUBE_CORES, _VECTOR_CORES, _L2_BYTES = 102, 201, 302  # attributes of aclrtGetDeviceInfo
# Chips without bfloat16; all later ones have it.
_WITHOUT_BF16 = ("Ascend310", "Ascend910A", "Ascend910ProA", "Ascend910PremiumA")


def _get_device_index(device: Any = None, optional: bool = True) -> int:
    if device is None and not optional:
        raise ValueError("a device is wanted: a number, 'npu:0' or torch.device('npu', 0)")
    return _runtime.device_index(device)


# --- devices --------------------------------------------------------------------------------------------


def init() -> None:
    """Loads the libraries and counts the devices. Everything else does it when needed."""
    _npu.device_count()


def is_initialized() -> bool:
    """Whether an NPU has been used in this process."""
    return bool(_npu.is_initialized())


def is_available() -> bool:
    """Whether there is an NPU: a card, or the software NPU if it was asked for."""
    return acl_loader.find() is not None


def device_count() -> int:
    """How many NPUs there are."""
    return int(_npu.device_count()) if is_available() else 0


def current_device() -> int:
    """The index of this thread's current device."""
    init()
    return int(_npu.current_device())


def set_device(device: Any) -> None:
    """Makes a device this thread's current one. A negative number changes nothing."""
    if not (isinstance(device, int) and device < 0):
        _npu.set_device(_get_device_index(device))


class device(_device_module.DeviceContextBase):
    """Makes a device current inside a ``with`` block."""

    _native: ClassVar[Any] = _npu

    @staticmethod
    def _index(device: Any) -> int:
        return _get_device_index(device)


class device_of(device):
    """Makes the device of a tensor or storage current inside a ``with`` block; nothing for one on the CPU."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.device.type == "npu" else None)


def synchronize(device: Any = None) -> None:
    """Waits for all streams of a device."""
    _runtime.get_runtime(_get_device_index(device)).synchronize_device()


class _NPUDeviceProperties(NamedTuple):
    name: str
    total_memory: int
    cube_core_num: int
    vector_core_num: int
    L2_cache_size: int
    major: int | None = None
    minor: int | None = None
    is_multi_gpu_board: bool | None = None
    is_integrated: bool | None = None
    multi_processor_count: int | None = None
    max_threads_per_multi_processor: int | None = None
    warp_size: int | None = None
    regs_per_multiprocessor: int | None = None
    gcnArchName: str | None = None
    uuid: str = ""

    def __repr__(self) -> str:
        return (
            f"_NPUDeviceProperties(name='{self.name}', total_memory={self.total_memory >> 20}MB, "
            f"cube_core_num={self.cube_core_num}, vector_core_num={self.vector_core_num}, uuid={self.uuid}, "
            f"L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


def get_device_properties(device: Any = None) -> _NPUDeviceProperties:
    """Name, memory and cores of a device."""
    index = _get_device_index(device)
    _, total = mem_get_info(index)
    return _NPUDeviceProperties(
        name=_npu.soc_name(),
        total_memory=total,
        cube_core_num=_npu.device_info(index, _CUBE_CORES) or 0,
        vector_core_num=_npu.device_info(index, _VECTOR_CORES) or 0,
        L2_cache_size=_npu.device_info(index, _L2_BYTES) or 0,
    )


def _get_device_name(device: Any = None) -> str:
    _runtime.get_runtime(_get_device_index(device))
    return str(_npu.soc_name())


def get_device_name(device: Any = None) -> str:
    """The name of the chip, such as "Ascend910B1"."""
    return _get_device_name(device)


def _get_device_capability(device: Any = None) -> tuple[int, int]:
    _runtime.get_runtime(_get_device_index(device))
    return (0, 0)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """(0, 0): NPUs have no compute capability. Ask for :func:`get_device_name` instead."""
    return _get_device_capability(device)


def can_device_access_peer(device_id: int, peer_device_id: int) -> bool:
    """Whether a device can reach the memory of another one."""
    count = device_count()
    for index in (device_id, peer_device_id):
        if not 0 <= index < count:
            warnings.warn(
                f"can_device_access_peer({device_id}, {peer_device_id}): there is no npu:{index}, "
                f"only {count} device(s)",
                stacklevel=2,
            )
            return False
    return device_id != peer_device_id and bool(_npu.can_access_peer(device_id, peer_device_id))


def enable_peer_access(peer_device_id: int) -> None:
    """Lets the current device reach the memory of another one."""
    count = device_count()
    if not 0 <= peer_device_id < count:
        raise RuntimeError(f"enable_peer_access({peer_device_id}): no such NPU, there are {count} device(s)")
    _npu.enable_peer_access(peer_device_id)


def disable_peer_access(peer_device_id: int) -> None:
    """Takes :func:`enable_peer_access` back."""
    _npu.disable_peer_access(peer_device_id)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the chip computes in bfloat16."""
    return not get_device_name().startswith(_WITHOUT_BF16)


# --- streams and events ---------------------------------------------------------------------------------


def stream_priority_range() -> tuple[int, int]:
    """The lowest and the highest priority of streams; (0, 0) if the runtime cannot be asked."""
    found = _npu.stream_priority_range()
    return (0, 0) if found is None else (int(found[0]), int(found[1]))


class Event(_device_module.EventBase):
    """A mark in a stream of an NPU."""

    _native: ClassVar[Any] = _npu
    _type = "npu"

    @staticmethod
    def _current_stream() -> Stream:
        return current_stream()


class Stream(_device_module.StreamBase):
    """A queue of work on an NPU. Work in one stream runs in order; streams run beside each other."""

    _native: ClassVar[Any] = _npu
    _type = "npu"
    _event_class = Event

    @classmethod
    def _index(cls, device: Any) -> int:
        return _get_device_index(device)

    @property
    def npu_stream(self) -> int:
        """The stream's handle in AscendCL."""
        return self.handle


class ExternalStream(Stream):
    """A stream that other code made and owns; ``stream_ptr`` is its AscendCL handle."""

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        super().__init__(device, _handle=stream_ptr)


class StreamContext(_device_module.StreamContextBase):
    """Selects a stream inside a ``with`` block."""

    _native: ClassVar[Any] = _npu


def stream(stream: Stream | None) -> StreamContext:
    """Work inside ``with torch.npu.stream(s):`` goes to ``s``; None changes nothing."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Makes a stream, and its device, this thread's current ones. None changes nothing."""
    if stream is not None:
        _npu.set_device(stream.device_index)
        _npu.set_stream(stream.device_index, stream.handle)


def current_stream(device: Any = None) -> Stream:
    """This thread's current stream on a device."""
    index = _get_device_index(device)
    return Stream(index, _handle=_npu.current_stream(index))


def default_stream(device: Any = None) -> Stream:
    """The stream that is current unless another is chosen."""
    index = _get_device_index(device)
    return Stream(index, _handle=_npu.default_stream(index))


def _record_stream(tensor: Any, stream: Stream) -> None:
    _npu.record_stream(tensor, stream.handle)


# --- memory ---------------------------------------------------------------------------------------------


def _get_allocator(device: Any = None) -> Any:
    return allocator.get_allocator(_get_device_index(device))


_memory_functions = _device_module.MemoryFunctions(
    "NPU",
    get_allocator=lambda device: _get_allocator(device),  # by name, so that replacing it here has an effect
    index_of=_get_device_index,
    in_use=lambda: sorted(allocator._allocators),
)
memory_stats = _memory_functions.memory_stats
memory_stats_as_nested_dict = _memory_functions.memory_stats_as_nested_dict
memory_allocated = _memory_functions.memory_allocated
max_memory_allocated = _memory_functions.max_memory_allocated
memory_reserved = memory_cached = _memory_functions.memory_reserved
max_memory_reserved = max_memory_cached = _memory_functions.max_memory_reserved
reset_peak_memory_stats = _memory_functions.reset_peak_memory_stats
reset_max_memory_allocated = reset_max_memory_cached = _memory_functions.reset_peak_memory_stats
reset_accumulated_memory_stats = _memory_functions.reset_accumulated_memory_stats
memory_summary = _memory_functions.memory_summary
memory_snapshot = _memory_functions.memory_snapshot
set_per_process_memory_fraction = _memory_functions.set_per_process_memory_fraction
get_per_process_memory_fraction = _memory_functions.get_per_process_memory_fraction
_snapshot = _memory_functions._snapshot
_dump_snapshot = _memory_functions._dump_snapshot
_record_memory_history = _memory_functions._record_memory_history


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a device's memory, as the driver counts them."""
    return _runtime.mem_get_info(_get_device_index(device))


def empty_cache() -> None:
    """Gives cached memory that no tensor uses back to the devices."""
    for index in sorted(allocator._allocators):
        _get_allocator(index).empty_cache()


def pin_memory(tensor: _C.Tensor) -> _C.Tensor:
    """A copy of a CPU tensor in pinned memory, from which copies with ``non_blocking=True`` do not wait."""
    return creation.pin_memory(tensor)


def is_pinned(tensor: Any) -> bool:
    """Whether a tensor lies in pinned host memory."""
    return creation.is_pinned(tensor)


def host_memory_stats() -> dict[str, Any]:
    """The counters of the pinned memory pool."""
    return allocator.get_pinned_pool().host_memory_stats()


def host_empty_cache() -> None:
    """Gives cached pinned memory back to the system."""
    allocator.get_pinned_pool().empty_cache()


# --- random numbers -------------------------------------------------------------------------------------


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator."""
    _npu.seed_device(_npu.current_device(), int(seed) & 0xFFFFFFFFFFFFFFFF)


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices, also of those not used yet."""
    _npu.seed_all(int(seed) & 0xFFFFFFFFFFFFFFFF)


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return int(_C._default_generator("npu").initial_seed())


def get_rng_state(device: Any = "npu") -> Any:
    """The state of a device's generator, as a ByteTensor of seed and offset."""
    return _C._default_generator(_C.device("npu", _get_device_index(device))).get_state()


def set_rng_state(new_state: Any, device: Any = "npu") -> None:
    """Restores a state of :func:`get_rng_state`."""
    _C._default_generator(_C.device("npu", _get_device_index(device))).set_state(new_state)


def get_rng_state_all() -> list[Any]:
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: list[Any]) -> None:
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
