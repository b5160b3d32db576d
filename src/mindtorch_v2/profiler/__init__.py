"""Where time and memory went: ``torch.profiler``."""

import importlib
from typing import TYPE_CHECKING, Any

from .. import _C
from .._absent import names_of
from ._record_function import record_function

if TYPE_CHECKING:
    from . import itt as itt
    from ._averages import FunctionEventAvg
    from ._config import _ExperimentalConfig as _ExperimentalConfig
    from ._event_list import EventList
    from ._execution_trace import ExecutionTraceObserver
    from ._function_event import FunctionEvent
    from ._kinds import DeviceType
    from ._kinds import RecordScope as RecordScope
    from ._kineto_profile import ProfilerActivity, supported_activities
    from ._kineto_profile import _KinetoProfile as _KinetoProfile
    from .profiler import ProfilerAction, profile, schedule, tensorboard_trace_handler

__all__ = [
    "DeviceType",
    "EventList",
    "ExecutionTraceObserver",
    "FunctionEvent",
    "FunctionEventAvg",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
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
    "ExecutionTraceObserver": "_execution_trace",
    "FunctionEvent": "_function_event",
    "FunctionEventAvg": "_averages",
    "ProfilerAction": "profiler",
    "ProfilerActivity": "_kineto_profile",
    "RecordScope": "_kinds",
    "_ExperimentalConfig": "_config",
    "_KinetoProfile": "_kineto_profile",
    "profile": "profiler",
    "schedule": "profiler",
    "supported_activities": "_kineto_profile",
    "tensorboard_trace_handler": "profiler",
}
# What programs take from torch._C._profiler.
_NATIVE_NAMES = {
    "ProfilerActivity": ("_kineto_profile", "ProfilerActivity"),
    "RecordScope": ("_kinds", "RecordScope"),
    "_EventType": ("_kineto_results", "EventType"),
    "_ExperimentalConfig": ("_config", "_ExperimentalConfig"),
    "_ExtraFields_Allocation": ("_kineto_results", "AllocationFields"),
    "_ExtraFields_Backend": ("_kineto_results", "BackendFields"),
    "_ExtraFields_PyCall": ("_kineto_results", "PyCallFields"),
    "_ExtraFields_TorchOp": ("_kineto_results", "TorchOpFields"),
    "_ProfilerEvent": ("_kineto_results", "ProfilerEvent"),
    "_RecordFunctionFast": ("_record_function", "RecordFunctionFast"),
}


def kineto_available() -> bool:
    """Whether traces can be recorded and exported: always."""
    return True


_others = names_of(__name__)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        return _others(name)
    value = globals()[name] = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, "itt"})


def _of_native(name: str) -> Any:
    if name not in _NATIVE_NAMES:
        raise AttributeError(f"module {_C._profiler.__name__!r} has no attribute {name!r}")
    module, own = _NATIVE_NAMES[name]
    return getattr(importlib.import_module(f".{module}", __name__), own)


_C._profiler.__getattr__ = _of_native  # type: ignore[method-assign]
