"""``torch_npu.profiler``: ``torch.profiler`` by the names that torch_npu has for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn

from .. import profiler as _profiler
from ..profiler import ProfilerAction, ProfilerActivity, profile, schedule, supported_activities
from ..profiler._kineto_profile import _KinetoProfile
from ._profiler_config import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerLevel,
    _ExperimentalConfig,
    supported_ai_core_metrics,
    supported_export_type,
    supported_profiler_level,
)

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "_KinetoProfile",
    "profile",
    "schedule",
    "supported_activities",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
    "tensorboard_trace_handler",
]


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str] | None = None,
    worker_name: str | None = None,
    analyse_flag: bool = True,
    async_mode: bool = False,
) -> Callable[[Any], None]:
    """For ``on_trace_ready``: writes each trace to ``dir_name`` (the working directory without one), where
    TensorBoard finds it. It is written at once and is complete, so the last two arguments change nothing."""
    return _profiler.tensorboard_trace_handler(dir_name or os.getcwd(), worker_name)


def analyse(profiler_path: str, max_process_number: int = 0, export_type: Any = None) -> NoReturn:
    """Not needed: traces are complete when they are written."""
    raise NotImplementedError(
        "torch_npu.profiler.profiler.analyse() reads the raw data of CANN's profiler, which are not written here. "
        "Traces of tensorboard_trace_handler() and export_chrome_trace() are complete as they are."
    )


def __getattr__(name: str) -> Any:
    if name == "profiler":  # torch_npu.profiler.profiler.analyse
        import sys

        return sys.modules[__name__]
    if name == "dynamic_profile":
        raise NotImplementedError(
            "torch_npu.profiler.dynamic_profile: a run cannot be profiled from outside here. Use "
            "torch_npu.profiler.profile with a schedule."
        )
    raise AttributeError(f"module 'torch_npu.profiler' has no attribute {name!r}")
