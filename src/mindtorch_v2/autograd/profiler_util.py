"""``torch.autograd.profiler_util``: the classes of recorded events."""

from ..profiler import DeviceType, EventList, FunctionEvent, FunctionEventAvg
from ..profiler._format import format_memory as _format_memory
from ..profiler._format import format_share as _format_time_share
from ..profiler._format import format_time as _format_time
from ..profiler._function_event import FormattedTimesMixin, Interval, Kernel
from ..profiler._kinds import MEMORY_EVENT_NAME, OUT_OF_MEMORY_EVENT_NAME

__all__ = [
    "DeviceType",
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MEMORY_EVENT_NAME",
    "OUT_OF_MEMORY_EVENT_NAME",
    "_format_memory",
    "_format_time",
    "_format_time_share",
]
