"""Full parameters in the modules for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ... import nn
from ..._C import Tensor
from ...autograd.grad_mode import no_grad
from ..tensor._api import DTensor
from ._group import ShardedParameter
from ._sharding import _State


@contextlib.contextmanager
def summoned(
    states: list[_State],
    writeback: bool = True,
    rank0_only: bool = False,
    offload_to_cpu: bool = False,
    with_grads: bool = False,
) -> Iterator[None]:
    """The modules of these states have full parameters, and their forwards leave them alone."""
    fresh = [each for each in states if not each.summoned]
    shown: list[tuple[ShardedParameter, nn.Parameter]] = []
    with no_grad():
        for state in fresh:
            state.group.reshard()
            shown += _shown(state, rank0_only, offload_to_cpu, with_grads)
            state.summoned = True
    try:
        yield
    finally:
        with no_grad():
            for each, full in shown:
                if writeback:
                    _write_back(each, full, with_grads)
        for each, _ in shown:
            each.put(each.sharded)
        for state in fresh:
            state.summoned = False


def _shown(
    state: _State, rank0_only: bool, offload_to_cpu: bool, with_grads: bool
) -> list[tuple[ShardedParameter, nn.Parameter]]:
    group = state.group
    for each in group.parameters:
        each.part()  # takes over what conversions put into the modules
    values: list[Any] = [each.sharded for each in group.parameters]
    full = group.full_values(values)
    gradients: list[Tensor | None] = [None] * len(full)
    if with_grads:
        gradients = [_full(each.sharded.grad) for each in group.parameters]
    if rank0_only and group.shards.rank() != 0:
        return []
    made = []
    for each, value, gradient in zip(group.parameters, full, gradients, strict=True):
        parameter = nn.Parameter(value.cpu() if offload_to_cpu else value, each.sharded.requires_grad)
        if gradient is not None:
            parameter.grad = gradient.to(parameter.device)
        each.put(parameter)
        made.append((each, parameter))
    return made


def _full(gradient: Tensor | None) -> Tensor | None:
    return gradient.full_tensor() if isinstance(gradient, DTensor) else gradient


def _write_back(each: ShardedParameter, full: nn.Parameter, with_grads: bool) -> None:
    module, name = each.places[0]
    now = module._parameters[name]
    if now is not full:
        if now is None or now.shape != full.shape:
            raise RuntimeError(
                f"the parameter {name!r} of a {type(module).__name__} was replaced inside summon_full_params by one of "
                f"another shape; wanted {tuple(full.shape)}"
            )
        full = now
    local: Tensor = each.sharded._local_tensor
    local.copy_(each.cut(full.detach())._local_tensor)
    if with_grads and full.grad is not None:
        cut = each.cut(full.grad.to(each.device))
        each.sharded.grad = each.from_part(cut._local_tensor.to(local.device))
