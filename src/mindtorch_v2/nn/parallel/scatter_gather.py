"""A batch spread over devices, and results collected on one. Containers are looked into; both carry gradients."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from ..._devices import registry

__all__ = ["gather", "scatter", "scatter_kwargs"]


def is_namedtuple(obj: Any) -> bool:
    """Whether an object is of a class that collections.namedtuple made."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


_is_namedtuple = is_namedtuple


def _device(target: Any) -> torch.device:
    """A device; a number means one of the accelerator."""
    if isinstance(target, int):
        return torch.device(registry.accelerator().type, target)
    return torch.device(target)


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """`inputs` once per device, each tensor in it a slice along `dim`; other objects are in all of them."""
    devices = [_device(target) for target in target_gpus]

    def spread(value: Any) -> Sequence[Any]:
        if isinstance(value, torch.Tensor):
            return [
                part.to(device) for part, device in zip(value.chunk(len(devices), dim), devices, strict=False)
            ]
        if is_namedtuple(value):
            return [type(value)(*parts) for parts in zip(*map(spread, value), strict=False)]
        if isinstance(value, tuple) and value:
            return list(zip(*map(spread, value), strict=False))
        if isinstance(value, list) and value:
            return [list(parts) for parts in zip(*map(spread, value), strict=False)]
        if isinstance(value, dict) and value:
            return [type(value)(parts) for parts in zip(*map(spread, value.items()), strict=False)]
        return [value for _ in devices]

    return spread(inputs)


def scatter_kwargs(
    inputs: Any, kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """:func:`scatter` of positional and keyword arguments, as many of the one as of the other."""
    positional = list(scatter(inputs, target_gpus, dim)) if inputs else []
    keywords = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    positional += [()] * (len(keywords) - len(positional))
    keywords += [{}] * (len(positional) - len(keywords))
    return tuple(positional), tuple(keywords)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The results of several devices on one: tensors are joined along `dim`."""
    device = _device(target_device)

    def joined(values: Sequence[Any]) -> Any:
        first = values[0]
        if isinstance(first, torch.Tensor):
            tensors = [value.to(device) for value in values]
            if all(value.dim() == 0 for value in values) and dim == 0:
                warnings.warn(
                    "Was asked to gather along dimension 0, but all input tensors were scalars; will instead "
                    "unsqueeze and return a vector.",
                    stacklevel=3,
                )
                tensors = [value.reshape(1) for value in tensors]
            return torch.cat(tensors, dim)
        if first is None:
            return None
        if isinstance(first, dict):
            if any(len(value) != len(first) for value in values):
                raise ValueError("All dicts must have the same number of keys")
            return type(first)((key, joined([value[key] for value in values])) for key in first)
        if is_namedtuple(first):
            return type(first)._make(map(joined, zip(*values, strict=True)))
        return type(first)(map(joined, zip(*values, strict=True)))

    return joined(outputs)
