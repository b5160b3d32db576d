"""Where time and memory went: ``torch.profiler``."""

import importlib
from typing import TYPE_CHECKING, Any

from ._record_function import record_function

if TYPE_CHECKING:
    from ._averages import FunctionEventAvg
    from ._event_list import EventList
    from ._function_event import FunctionEvent
    from ._kinds import DeviceType
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

# Loaded when first used: most programs only annotate.
_MODULES = {
    "DeviceType": "_kinds",
    "EventList": "_event_list",
    "FunctionEvent": "_function_event",
    "FunctionEventAvg": "_averages",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{_MODULES.get(name, 'profiler')}", __name__)
    value = globals()[name] = getattr(module, name)
    return value
