"""Gradients: backward, grad, and the modes."""

from __future__ import annotations

import sys
from typing import Any

from .. import _C
from .._absent import names_of
from .._C import SavedTensor
from . import _above as _above
from . import _functions as _functions
from . import anomaly_mode, function, grad_mode, graph, variable
from ._engine import kineto_available
from ._passes import _calculate_shape as _calculate_shape
from ._passes import backward, grad
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .grad_mode import (
    _force_original_view_tracking,
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import gradcheck, gradgradcheck
from .graph import Node
from .variable import Variable, _engine_run_backward

__all__ = [
    "Function",
    "Node",
    "SavedTensor",
    "Variable",
    "_engine_run_backward",
    "_force_original_view_tracking",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "kineto_available",
    "no_grad",
    "profiler",
    "profiler_util",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]


def _is_checkpoint_valid() -> bool:
    """Whether a reentrant checkpoint may run its own pass now."""
    return Variable._execution_engine.is_checkpoint_valid()


is_multithreading_enabled = _C._is_multithreading_enabled
is_view_replay_enabled = _C._is_view_replay_enabled
_names_that_refuse = names_of(__name__)


def __getattr__(name: str) -> Any:
    if name in (
        "forward_ad",
        "functional",
        "profiler",
        "profiler_util",
    ):  # they need more, so they come when asked for
        import importlib

        return importlib.import_module(f".{name}", __name__)
    if name == "torch":  # PyTorch's module has it
        return sys.modules[__package__.rpartition(".")[0]]
    if name == "_profiler_enabled":
        return _C._profiler.recording
    return _names_that_refuse(name)
