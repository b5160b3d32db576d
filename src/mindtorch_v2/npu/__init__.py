"""``torch.npu``: the Ascend NPU as a device — streams, events, memory, properties, random numbers.

Importing this touches no driver; the first use of a device does. See ``docs/npu.md``.
"""

from __future__ import annotations

import gc
import sys
import warnings
from typing import Any, ClassVar, NamedTuple

from .. import _C
from .._backends.npu import acl_loader, aclnn, allocator
from .._backends.npu import runtime as _runtime
from .._devices import module_parts as _parts
from .._devices import registry as _registry
from ..amp import _state as _autocast
from . import _chips, _kind, graphs, memory, random, streams
from ._permissions import config, conv, matmul
from .graphs import *  # noqa: F403
from .memory import *  # noqa: F403
from .random import *  # noqa: F403
from .streams import *  # noqa: F403

__all__ = [
    "AcceleratorError", "OutOfMemoryError", "can_device_access_peer", "config", "conv", "current_device",
    "device", "device_count", "device_of", "disable_peer_access", "enable_peer_access",
    "get_amp_supported_dtype", "get_arch_list", "get_autocast_dtype", "get_device_capability",
    "get_device_name", "get_device_properties", "get_soc_version", "get_task_queue_enable", "graphs",
    "has_half", "has_magma", "init", "ipc_collect", "is_autocast_enabled", "is_available", "is_bf16_supported",
    "is_initialized", "is_jit_compile_false", "is_tf32_supported", "matmul", "memory", "memory_usage", "random",
    "set_autocast_dtype", "set_autocast_enabled", "set_compile_mode", "set_device", "set_task_queue_enable",
    "streams", "synchronize", "utilization",
    *graphs.__all__, *memory.__all__, *random.__all__, *streams.__all__,
]  # fmt: skip

_npu = _C._npu

AcceleratorError = _C.AcceleratorError
OutOfMemoryError = _C.OutOfMemoryError
_allocation_traceback = memory._allocation_traceback
_dump_snapshot = memory._dump_snapshot
_record_memory_history = memory._record_memory_history
_snapshot = memory._snapshot

_CUBE_CORES, _VECTOR_CORES, _L2_BYTES = 102, 201, 302  # attributes of aclrtGetDeviceInfo


def _get_allocator(device: Any = None) -> Any:
    index = _runtime.device_index(device)
    if index not in allocator._allocators:
        # Without a device there is one allocator, whose counters are all 0.
        count = max(device_count(), 1)
        if index >= count:
            devices = "is 1 device" if count == 1 else f"are {count} devices"
            raise RuntimeError(f"Invalid NPU device index {index}: there {devices}.")
    return allocator.get_allocator(index)


memory.find_allocator = lambda device: _get_allocator(device)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of a device; with ``optional``, of the current one if none is given. The CPU's is -1."""
    if isinstance(device, str):
        device = _C.device(device)
    if allow_cpu and getattr(device, "type", None) == "cpu":
        return -1
    if not optional and (device is None or (not isinstance(device, int) and device.index is None)):
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return _runtime.device_index(device)


def _existing_device(device: Any) -> int:
    index = _runtime.device_index(device)
    if index >= device_count():
        raise AssertionError("Invalid device id")
    return index


# --- devices --------------------------------------------------------------------------------------------


def init() -> None:
    """Loads the libraries and counts the devices. Everything else does it when needed."""
    _npu.device_count()


_lazy_init = init


def _lazy_call(callable: Any, **kwargs: Any) -> None:
    """Calls a function once NPUs are in use: now, because asking for them is enough to start them."""
    init()
    callable()


def _is_in_bad_fork() -> bool:
    """Whether this process is a fork of one that used an NPU, and so cannot use it itself."""
    return bool(_npu.is_in_bad_fork())


def is_initialized() -> bool:
    """Whether an NPU has been used in this process; a fork of one that used it has not."""
    return bool(_npu.is_initialized()) and not _is_in_bad_fork()


def is_available() -> bool:
    """Whether there is an NPU: a card, or the software NPU if it was asked for."""
    return acl_loader.find() is not None


def device_count() -> int:
    """How many NPUs there are."""
    return acl_loader.device_count()


def current_device() -> int:
    """The index of this thread's current device."""
    init()
    return int(_npu.current_device())


def set_device(device: Any) -> None:
    """Makes a device this thread's current one. A negative number changes nothing."""
    if not (isinstance(device, int) and device < 0):
        _npu.set_device(_runtime.device_index(device))


class device(_parts.DeviceContextBase):
    """Makes a device current inside a ``with`` block."""

    _native: ClassVar[Any] = _npu

    @staticmethod
    def _index(device: Any) -> int:
        return _runtime.device_index(device)


class device_of(device):
    """Makes the device of a tensor or storage current inside a ``with`` block; nothing for one on the CPU."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.device.type == "npu" else None)


def synchronize(device: Any = None) -> None:
    """Waits for all streams of a device."""
    _runtime.get_runtime(_runtime.device_index(device)).synchronize_device()


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
    index = _existing_device(device)
    _, total = memory.mem_get_info(index)
    vector_cores = _npu.device_info(index, _VECTOR_CORES)
    return _NPUDeviceProperties(
        name=_npu.soc_name(),
        total_memory=total,
        cube_core_num=_npu.device_info(index, _CUBE_CORES) or 0,
        vector_core_num=vector_cores or 0,
        L2_cache_size=_npu.device_info(index, _L2_BYTES) or 0,
        multi_processor_count=vector_cores,
        uuid=_uuid(index),
    )


def _uuid(index: int) -> str:
    """The device's identity among all cards, empty where the driver does not tell."""
    import ctypes  # slow to import, and seldom needed
    import uuid

    address = _npu.symbol("aclrtDeviceGetUuid")
    if address == 0:
        return ""
    told = ctypes.create_string_buffer(16)
    code = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_void_p)(address)(index, told)
    return str(uuid.UUID(bytes=told.raw)) if code == 0 else ""


def _get_device_name(device: Any = None) -> str:
    _runtime.get_runtime(_existing_device(device))
    return str(_npu.soc_name())


def get_device_name(device: Any = None) -> str:
    """The name of the chip, such as "Ascend910B1"."""
    return _get_device_name(device)


def _get_device_capability(device: Any = None) -> tuple[int, int]:
    _runtime.get_runtime(_existing_device(device))
    return (0, 0)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """(0, 0): NPUs have no compute capability. Ask for :func:`get_device_name` instead."""
    return _get_device_capability(device)


def can_device_access_peer(device_id: Any, peer_device_id: Any) -> bool:
    """Whether a device can reach the memory of another one."""
    device_id, peer_device_id = _peer(device_id), _peer(peer_device_id)
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


def _peer(device: Any) -> int:
    return device if isinstance(device, int) else _runtime.device_index(device)


def enable_peer_access(peer_device_id: Any) -> None:
    """Lets the current device reach the memory of another one."""
    peer_device_id = _peer(peer_device_id)
    count = device_count()
    if not 0 <= peer_device_id < count:
        raise RuntimeError(f"enable_peer_access({peer_device_id}): no such NPU, there are {count} device(s)")
    _npu.enable_peer_access(peer_device_id)


def disable_peer_access(peer_device_id: Any) -> None:
    """Takes :func:`enable_peer_access` back."""
    _npu.disable_peer_access(_peer(peer_device_id))


def _sleep(cycles: int) -> None:
    """Keeps the current stream busy for a number of the device's cycles."""
    aclnn.call("aclnnSleep", [int(cycles)], runtime=_runtime.get_runtime(_runtime.device_index(None)))


def get_arch_list() -> list[str]:
    """The chips that this process can use: the one that there is."""
    return [_get_device_name()] if is_available() else []


def get_soc_version() -> int:
    """The number of the chip: 220 to 225 are Atlas A2's, 250 to 255 Atlas A3's. Its name: :func:`get_device_name`."""
    return _chips.number(_get_device_name())


def utilization(device: Any = None) -> int:
    """How busy the cube cores were lately, in per cent."""
    return int(_utilization(device)[0])


def memory_usage(device: Any = None) -> int:
    """How busy the memory was lately, in per cent."""
    return int(_utilization(device)[3])


def _utilization(device: Any) -> Any:
    found = _npu.utilization(_runtime.device_index(device))
    if found is None:
        raise RuntimeError("the driver does not tell how busy the device is; ask npu-smi info")
    return found


def ipc_collect() -> None:
    """Gives memory back that was lent to other processes and is not used any more."""
    gc.collect()


def is_tf32_supported() -> bool:
    """False: TF32 is a format of GPUs."""
    return False


def set_compile_mode(jit_compile: bool = False) -> None:
    """Operators are never compiled while the program runs, so only False can be set."""
    if jit_compile:
        raise NotImplementedError(
            "torch.npu.set_compile_mode(jit_compile=True): operators are compiled ahead"
        )


def is_jit_compile_false() -> bool:
    return True


def set_task_queue_enable(mode: int) -> None:
    """Operators are enqueued by the thread that calls them, so only 0 can be set."""
    if mode != 0:
        raise NotImplementedError(f"torch.npu.set_task_queue_enable({mode}): there is no queue in between")


def get_task_queue_enable() -> int:
    return 0


has_half = True
has_magma = False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the chip computes in bfloat16."""
    return _chips.has_bfloat16(get_device_name())


# --- mixed precision ------------------------------------------------------------------------------------


def get_amp_supported_dtype() -> list[Any]:
    """The dtypes that ``torch.autocast("npu")`` knows."""
    return [_C.float16, _C.bfloat16, _C.float32]


def is_autocast_enabled() -> bool:
    """Whether this thread is inside of ``torch.autocast("npu")``."""
    return bool(_autocast.is_autocast_enabled("npu"))


def set_autocast_enabled(enable: bool) -> None:
    _autocast.set_autocast_enabled("npu", enable)


def get_autocast_dtype() -> Any:
    """The dtype that ``torch.autocast("npu")`` computes in."""
    return _autocast.get_autocast_dtype("npu")


def set_autocast_dtype(dtype: Any) -> None:
    _autocast.set_autocast_dtype("npu", dtype)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):  # submodules look here before they are imported
        raise AttributeError(f"module 'torch.npu' has no attribute {name!r}")
    if name == "amp":
        from importlib import import_module

        return import_module(f"{__name__}.amp")
    if name == "default_generators":
        return random._functions.generators()
    from . import _absent, _legacy

    if name in _legacy.DTYPES:
        return _legacy.make(name)
    if name in _absent.REASONS:
        raise _absent.AbsentName(f"torch.npu.{name}: {_absent.REASONS[name]}")
    raise AttributeError(f"module 'torch.npu' has no attribute {name!r}")


_registry.register_accelerator(_kind.Npu(sys.modules[__name__]))
