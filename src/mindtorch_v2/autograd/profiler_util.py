"""``torch.autograd.profiler_util``: the classes of recorded events."""

from ..profiler import DeviceType, EventList, FunctionEvent, FunctionEventAvg
from ..profiler._function_event import FormattedTimesMixin, Interval, Kernel

__all__ = [
    "DeviceType",
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
]
