"""Operators over lists of tensors, as optimizers call them: on the values of those that are nested."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .nested_tensor import NestedTensor, wrap
from .rules import rule


def _values(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_values(v) for v in value]
    return value._values if isinstance(value, NestedTensor) else value


@rule(*(name for name in dir(torch._C._functions) if name.startswith(("_foreach_", "_fused_"))))
def over_lists(func: Any, first: Any, *args: Any, **kwargs: Any) -> Any:
    if torch.is_grad_enabled() and any(t.requires_grad for t in first):
        raise RuntimeError(f"{func.__name__}() has no gradient for nested tensors; call it under no_grad()")
    made = func(_values(first), *map(_values, args), **{k: _values(v) for k, v in kwargs.items()})
    if func.__name__.partition(".")[0].endswith("_"):
        return first if made is not None else None

    def as_given(result: torch.Tensor, given: Any) -> torch.Tensor:
        nested = isinstance(given, NestedTensor) and result.shape == given._values.shape
        return wrap(result, given) if nested else result

    return tuple(map(as_given, made, first)) if isinstance(made, (list, tuple)) else made
