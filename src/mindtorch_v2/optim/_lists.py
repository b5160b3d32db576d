"""Arithmetic over lists of parameters: what the optimizers are made of besides ``torch._foreach_*``.

An optimizer's update is written once, over lists. Values that depend on the step are numbers, computed on the host;
with ``capturable`` or ``differentiable`` they are tensors, so that nothing waits for the device and autograd sees
them. The functions here take either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .. import _C
from .._C import _functions
from .._devices import registry
from .optimizer import _get_capturable_supported_devices, number

Tensors = list[torch.Tensor]
any_complex = _C._lists.any_complex
devices = _C._lists.devices
sparse_places = _C._lists.sparse_places


def in_one_kernel(params: Tensors) -> bool:
    """Whether a step over the whole list is one kernel where the parameters are, though their count of steps is on the
    host. Also where meta stands for it: what a program on meta takes up is then what it takes up there."""
    kinds = {device.type for device in devices(params)}
    if "meta" in kinds:
        kinds = {_C._meta_stands_for()}
    return all(kind == "cpu" or _takes_counts(kind) for kind in kinds)


def _takes_counts(kind: str) -> bool:
    found = registry.accelerators.get(kind)
    return found is not None and found.steps_in_one_kernel


def by_device(params: Tensors) -> list[list[int]]:
    """The positions of the parameters of each device: a kernel runs on one."""
    if len(devices(params)) == 1:
        return [list(range(len(params)))]
    found: dict[torch.device, list[int]] = {}
    for position, param in enumerate(params):
        found.setdefault(param.device, []).append(position)
    return list(found.values())


def select(tensors: Tensors, where: list[int]) -> Tensors:
    if len(where) == len(tensors) or not tensors:
        return tensors
    return [tensors[position] for position in where]


def uncount(state_steps: Tensors, found_inf: torch.Tensor | None) -> None:
    """A step that was left out because of an infinity does not count."""
    if found_inf is not None:
        _functions._foreach_sub_(state_steps, [found_inf] * len(state_steps))


def views_as_real(params: Tensors, *state: Tensors) -> list[Tensors]:
    """Parameters and lists of their state, with complex tensors seen as pairs of real numbers."""
    if not any_complex(params):
        return [params, *state]
    return [[torch.view_as_real(t) if t.is_complex() else t for t in tensors] for tensors in (params, *state)]


def check_capturable(capturable: bool, params: Tensors, *counters: Tensors, names: str = "params") -> None:
    if not capturable:
        return
    devices = _get_capturable_supported_devices()
    for tensors in zip(params, *counters, strict=True):
        if any(t.device.type != params[0].device.type or t.device.type not in devices for t in tensors):
            raise AssertionError(
                f"If capturable=True, {names} and state_steps must be on supported devices: {devices}."
            )


def next_steps(state_steps: Tensors, as_tensors: bool) -> list[Any]:
    """Counts the step; the counters as tensors, or as numbers."""
    _functions._foreach_add_(state_steps, 1)
    return list(state_steps) if as_tensors else [step.item() for step in state_steps]


def ascending(gradients: Tensors, maximize: bool) -> Tensors:
    return list(_functions._foreach_neg(gradients)) if maximize else gradients


def with_decay(gradients: Tensors, params: Tensors, weight_decay: Any) -> Tensors:
    """Gradients of the loss with the square of the parameters added."""
    if isinstance(weight_decay, torch.Tensor):
        return list(_functions._foreach_add(gradients, _functions._foreach_mul(params, weight_decay)))
    return (
        list(_functions._foreach_add(gradients, params, alpha=weight_decay))
        if weight_decay != 0
        else gradients
    )


def shrink_(params: Tensors, lr: Any, weight_decay: float) -> None:
    """Decoupled weight decay: the parameters themselves become smaller."""
    if weight_decay != 0:
        _functions._foreach_mul_(params, 1 - lr * weight_decay)


def rate(lr: Any, as_tensors: bool) -> Any:
    return lr if as_tensors else number(lr)


def have_tensors(values: Sequence[Any]) -> bool:
    return any(isinstance(value, torch.Tensor) for value in values)


def number_or_list(values: Sequence[Any]) -> Any:
    """One number where all are the same, as they are while all parameters have made the same steps: devices have an
    operator for a list of tensors and a number."""
    return values[0] if all(value == values[0] for value in values) else list(values)


def multiply(tensors: Tensors, values: Sequence[Any]) -> Tensors:
    if have_tensors(values):
        return [tensor * value for tensor, value in zip(tensors, values, strict=True)]
    return list(_functions._foreach_mul(tensors, number_or_list(values)))


def divide(tensors: Tensors, values: Sequence[Any]) -> Tensors:
    if have_tensors(values):
        return [tensor / value for tensor, value in zip(tensors, values, strict=True)]
    return list(_functions._foreach_div(tensors, number_or_list(values)))


def add_quotients_(params: Tensors, values: Tensors, divisors: Tensors, factors: Sequence[Any]) -> None:
    """params += factors * values / divisors"""
    if have_tensors(factors):
        _functions._foreach_addcdiv_(params, multiply(values, factors), divisors)
    else:
        _functions._foreach_addcdiv_(params, values, divisors, number_or_list(factors))


def add_scaled_(params: Tensors, values: Tensors, factor: Any) -> None:
    """params += factor * values"""
    if isinstance(factor, torch.Tensor):
        _functions._foreach_add_(params, _functions._foreach_mul(values, factor))
    else:
        _functions._foreach_add_(params, values, alpha=factor)


def average_(averages: Tensors, values: Tensors, beta: Any) -> None:
    """Running averages that keep the part ``beta`` of themselves."""
    if isinstance(beta, torch.Tensor):
        _functions._foreach_lerp_(averages, values, [1 - beta.to(a.device, a.dtype) for a in averages])
    else:
        _functions._foreach_lerp_(averages, values, 1 - beta)


def average_squares_(averages: Tensors, values: Tensors, beta: Any) -> None:
    _functions._foreach_mul_(averages, beta)
    if isinstance(beta, torch.Tensor):
        _functions._foreach_addcmul_(averages, _functions._foreach_mul(values, 1 - beta), values)
    else:
        _functions._foreach_addcmul_(averages, values, values, 1 - beta)


def rows_of(tensor: torch.Tensor, indices: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A dense tensor with its sparse dimensions as one, and the places of indices along it."""
    depth = indices.shape[0]
    if depth == 1:
        return tensor, indices[0]
    places = indices[0]
    for row, length in zip(indices[1:].unbind(0), tensor.shape[1:depth], strict=True):
        places = places * length + row
    return tensor.view(math.prod(tensor.shape[:depth]), *tensor.shape[depth:]), places
