"""Where time and memory went: ``torch.profiler``."""

from ._averages import FunctionEventAvg
from ._event_list import EventList
from ._function_event import FunctionEvent
from ._kinds import DeviceType
from ._record_function import record_function
from .profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "DeviceType",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
