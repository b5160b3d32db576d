"""Stochastic gradient descent."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from ._list_optimizer import ListOptimizer, step_of
from ._lists import Tensors
from ._options import Rate, declared, learning_rate, not_negative, option, switch
from .optimizer import number

__all__ = ["SGD", "sgd"]

Buffers = list[torch.Tensor | None]


@declared()
class SGD(ListOptimizer):
    """Plain descent, or with (Nesterov) momentum. ``weight_decay`` is added to the gradient."""

    lr: Rate = option(default=1e-3, check=learning_rate)
    momentum: float = option(default=0, check=not_negative)
    dampening: float = option(default=0, meaning="how much of the gradient does not enter the momentum")
    weight_decay: Rate = option(default=0, check=not_negative)
    nesterov: bool = switch(default=False)
    _: KW_ONLY
    maximize: bool = switch(default=False)
    foreach: bool | None = switch(default=None)
    differentiable: bool = switch(default=False)
    fused: bool | None = switch(default=None)

    _takes_sparse = True

    def _check_options(self, options: dict[str, Any]) -> None:
        if options["nesterov"] and (options["momentum"] <= 0 or options["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def _states(self, params: Tensors, group: dict[str, Any]) -> list[Any]:
        return super()._states(params, group) if group["momentum"] != 0 else []

    def _update(self, params: Tensors, gradients: Tensors, states: list[Any], group: dict[str, Any]) -> None:
        buffers: Buffers = [state.get("momentum_buffer") for state in states]
        self._function(self, params, gradients, group, {"momentum_buffer_list": buffers})
        for state, buffer in zip(states, buffers, strict=True):
            state["momentum_buffer"] = buffer


@step_of(SGD, "momentum_buffer_list")
def sgd(
    params: Tensors,
    d_p_list: Tensors,
    momentum_buffer_list: Buffers,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    *,
    weight_decay: Rate,
    momentum: float,
    lr: Rate,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """One step of SGD over lists. Entries of ``momentum_buffer_list`` that are None get a tensor.

    With ``fused``, and where lists.in_one_kernel says so, the whole list is one kernel; ``foreach`` does not change
    what is computed.
    """
    if sparse := set(lists.sparse_places(d_p_list)):
        _with_sparse(params, d_p_list, momentum_buffer_list, sparse, fused=fused, grad_scale=grad_scale,
                     found_inf=found_inf, weight_decay=weight_decay, momentum=momentum, lr=lr, dampening=dampening,
                     nesterov=nesterov, maximize=maximize)  # fmt: skip
        return
    native = fused or (not torch.is_grad_enabled() and lists.in_one_kernel(params))
    fresh = [position for position, buffer in enumerate(momentum_buffer_list) if buffer is None]
    if native and not lists.any_complex(params):
        for position in fresh:
            momentum_buffer_list[position] = torch.empty_like(
                d_p_list[position], memory_format=torch.preserve_format
            )
        for where in lists.by_device(params):
            for chosen, is_first in _by_first_step(where, fresh):
                _functions._fused_sgd_(
                    lists.select(params, chosen),
                    lists.select(d_p_list, chosen),
                    lists.select(momentum_buffer_list, chosen),  # type: ignore[arg-type]
                    weight_decay=number(weight_decay),
                    momentum=momentum,
                    lr=lr,
                    dampening=dampening,
                    nesterov=nesterov,
                    maximize=maximize,
                    is_first_step=is_first,
                    grad_scale=grad_scale,
                    found_inf=found_inf,
                )
        return

    gradients = lists.ascending(d_p_list, maximize)
    gradients = lists.with_decay(gradients, params, weight_decay)
    if momentum != 0:
        old = [position for position, buffer in enumerate(momentum_buffer_list) if buffer is not None]
        if old:
            buffers: Tensors = [momentum_buffer_list[position] for position in old]  # type: ignore[misc]
            _functions._foreach_mul_(buffers, momentum)
            _functions._foreach_add_(buffers, [gradients[position] for position in old], alpha=1 - dampening)
        for position in fresh:
            momentum_buffer_list[position] = gradients[position].detach().clone()
        momenta: Tensors = momentum_buffer_list  # type: ignore[assignment]
        gradients = list(_functions._foreach_add(gradients, momenta, alpha=momentum)) if nesterov else momenta
    lists.add_scaled_(params, gradients, -lr)


def _by_first_step(where: list[int], fresh: list[int]) -> list[tuple[list[int], bool]]:
    """Positions whose momentum begins with this step apart from the others: a kernel does the one or the other."""
    if not fresh:
        return [(where, False)]
    first = set(fresh)
    parts = [([i for i in where if (i in first) == is_first], is_first) for is_first in (True, False)]
    return [part for part in parts if part[0]]


def _with_sparse(params: Tensors, grads: Tensors, buffers: Buffers, sparse: set[int], **options: Any) -> None:
    """Parameters with sparse gradients one by one, the others as ever."""
    dense = [place for place in range(len(params)) if place not in sparse]
    if dense:
        own = [buffers[place] for place in dense] if buffers else []
        sgd(lists.select(params, dense), lists.select(grads, dense), own, **options)
        for place, buffer in zip(dense, own, strict=False):
            buffers[place] = buffer
    momentum, rate = options["momentum"], options["lr"]
    for place in sorted(sparse):
        param, grad = params[place], grads[place]
        if options["maximize"]:
            grad = -grad
        if options["weight_decay"] != 0:
            grad = grad.add(param, alpha=options["weight_decay"])
        if momentum != 0:
            buffer = buffers[place]
            if buffer is None:
                buffer = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - options["dampening"])
            buffers[place] = buffer
            grad = grad.add(buffer, alpha=momentum) if options["nesterov"] else buffer
        param.add_(grad, alpha=-number(rate))
