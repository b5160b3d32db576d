"""``torch.xpu``: no Intel GPU is driven by this library, and this module says so as PyTorch without XPU does."""

from __future__ import annotations

from .._absent import names_of
from .._devices.absent import Absent as _Absent
from .._devices.absent import device_count as device_count
from .._devices.absent import empty_cache as empty_cache
from .._devices.absent import get_arch_list as get_arch_list
from .._devices.absent import get_gencode_flags as get_gencode_flags
from .._devices.absent import get_rng_state_all as get_rng_state_all
from .._devices.absent import is_available as is_available
from .._devices.absent import is_bf16_supported as is_bf16_supported
from .._devices.absent import is_current_stream_capturing as is_current_stream_capturing
from .._devices.absent import is_initialized as is_initialized
from .._devices.absent import is_tf32_supported as is_tf32_supported
from .._devices.absent import manual_seed as manual_seed
from .._devices.absent import manual_seed_all as manual_seed_all
from .._devices.absent import memory_allocated as memory_allocated
from .._devices.absent import memory_stats as memory_stats
from .._devices.absent import seed as seed
from .._devices.absent import seed_all as seed_all
from .._devices.absent import set_rng_state_all as set_rng_state_all
from .._devices.streams import Event as _EventBase
from .._devices.streams import Stream as _StreamBase

_absent = _Absent("XPU")

init = _absent.function("init")
current_device = _absent.function("current_device")
set_device = _absent.function("set_device")
synchronize = _absent.function("synchronize")
get_device_name = _absent.function("get_device_name")
get_device_capability = _absent.function("get_device_capability")
get_device_properties = _absent.function("get_device_properties")
current_stream = _absent.function("current_stream")
set_stream = _absent.function("set_stream")
get_rng_state = _absent.function("get_rng_state")
set_rng_state = _absent.function("set_rng_state")
initial_seed = _absent.function("initial_seed")
mem_get_info = _absent.function("mem_get_info")
reset_peak_memory_stats = _absent.function("reset_peak_memory_stats")

memory_reserved = max_memory_allocated = max_memory_reserved = memory_allocated

default_generators: tuple[()] = ()

Stream = _absent.kind("Stream", __name__, _StreamBase)
Event = _absent.kind("Event", __name__, _EventBase)

__getattr__ = names_of(__name__)
