"""``torch.cuda``: no CUDA device is driven by this library, and this module says so as PyTorch without CUDA does."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .._absent_device import (
    Absent as _Absent,
)
from .._absent_device import (
    device_count as device_count,
)
from .._absent_device import (
    empty_cache as empty_cache,
)
from .._absent_device import (
    get_arch_list as get_arch_list,
)
from .._absent_device import (
    get_gencode_flags as get_gencode_flags,
)
from .._absent_device import (
    get_rng_state_all as get_rng_state_all,
)
from .._absent_device import (
    is_available as is_available,
)
from .._absent_device import (
    is_bf16_supported as is_bf16_supported,
)
from .._absent_device import (
    is_current_stream_capturing as is_current_stream_capturing,
)
from .._absent_device import (
    is_initialized as is_initialized,
)
from .._absent_device import (
    is_tf32_supported as is_tf32_supported,
)
from .._absent_device import (
    manual_seed as manual_seed,
)
from .._absent_device import (
    manual_seed_all as manual_seed_all,
)
from .._absent_device import (
    memory_allocated as memory_allocated,
)
from .._absent_device import (
    memory_stats as memory_stats,
)
from .._absent_device import (
    seed as seed,
)
from .._absent_device import (
    seed_all as seed_all,
)
from .._absent_device import (
    set_rng_state_all as set_rng_state_all,
)
from .._C import AcceleratorError as AcceleratorError
from .._C import OutOfMemoryError as OutOfMemoryError
from .._streams import Event as _EventBase
from .._streams import Stream as _StreamBase

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

Stream = _absent.kind("Stream", __name__, _StreamBase)
ExternalStream = _absent.kind("ExternalStream", __name__, Stream)
Event = _absent.kind("Event", __name__, _EventBase)
CUDAGraph = _absent.kind("CUDAGraph", __name__)
MemPool = _absent.kind("MemPool", __name__)
graph = _absent.kind("graph", __name__)


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


# They take their names from above.
from . import amp as amp  # noqa: E402
from . import memory as memory  # noqa: E402
from . import nvtx as nvtx  # noqa: E402
from . import profiler as profiler  # noqa: E402
from . import random as random  # noqa: E402
from . import streams as streams  # noqa: E402


def _is_in_bad_fork() -> bool:
    """False: no process has used a device that is not there."""
    return False


def __getattr__(name: str) -> Any:
    from ._rest import find  # needed seldom

    return find(name)
