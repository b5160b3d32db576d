"""Arguments by the parameters of what is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import mindtorch_v2 as torch

from ._compatibility import compatibility

__all__ = [
    "ArgsKwargsPair", "check_for_mutable_operation", "create_type_hint", "get_signature_for_torch_op",
    "normalize_function", "normalize_module", "type_matches",
]  # fmt: skip


@compatibility(is_backward_compatible=False)
class ArgsKwargsPair(NamedTuple):
    """The two parts of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@compatibility(is_backward_compatible=False)
def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of an operator, one for each overload; None for what is no operator."""
    return (None, None) if return_schemas else None


@compatibility(is_backward_compatible=False)
def check_for_mutable_operation(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raises RuntimeError if a call changes an argument."""


@compatibility(is_backward_compatible=False)
def create_type_hint(x: Any) -> Any:
    return x


@compatibility(is_backward_compatible=False)
def type_matches(signature_type: Any, argument_type: Any) -> bool:
    return bool(signature_type == argument_type)


def normalize_function(target: Any, args: Any, kwargs: Any = None, arg_types: Any = None, kwarg_types: Any = None,
                       normalize_to_only_use_kwargs: bool = False) -> Any:  # fmt: skip
    return None


def normalize_module(root: Any, target: Any, args: Any, kwargs: Any = None,
                     normalize_to_only_use_kwargs: bool = False) -> Any:  # fmt: skip
    return None


_later = (inspect, torch)
