"""Calling a module with other parameters than its own: the older name of `torch.func.functional_call`."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from typing import Any

from . import _functional_call

__all__ = ["functional_call"]


def _reparametrize_module(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> AbstractContextManager[None]:
    """The module with other parameters and buffers inside a ``with`` block."""
    values = parameters_and_buffers
    if tie_weights:
        values = _functional_call._with_tied(module, values)
    return _functional_call._replaced(module, values, strict)


def functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``torch.func.functional_call``."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a "
        "future version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in "
        "replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )
