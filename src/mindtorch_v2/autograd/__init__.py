"""Gradients: backward, grad, and the modes."""

from __future__ import annotations

from typing import Any

from .. import _C
from .._absent import names_of
from .._C import Node
from . import anomaly_mode, function, grad_mode, graph, variable
from ._passes import backward, grad
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

__all__ = [
    "Function",
    "Node",
    "Variable",
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
    "no_grad",
    "profiler",
    "profiler_util",
    "set_detect_anomaly",
    "set_grad_enabled",
    "variable",
]


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
    if name == "_profiler_enabled":
        return _C._profiler.recording
    return _names_that_refuse(name)
