"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from .optimizer import (
    ParamsT,
    add_options,
    check_fused,
    check_not_negative,
    check_rate,
    number,
)


class SGD(lists.ListOptimizer):
    """Plain descent, or with (Nesterov) momentum. ``weight_decay`` is added to the gradient."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | torch.Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        add_options(self, nesterov=False, maximize=False, foreach=None, differentiable=False, fused=None)

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any] | None:
        return {} if group["momentum"] != 0 else None

    def _update(
        self,
        params: lists.Tensors,
        gradients: lists.Tensors,
        states: list[dict[str, Any]],
        group: dict[str, Any],
    ) -> None:
        buffers: list[torch.Tensor | None] = []
        if group["momentum"] != 0:
            buffers = [state.get("momentum_buffer") for state in states]
        sgd(
            params,
            gradients,
            buffers,
            foreach=group["foreach"],
            fused=group["fused"],
            grad_scale=getattr(self, "grad_scale", None),
            found_inf=getattr(self, "found_inf", None),
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            lr=group["lr"],
            dampening=group["dampening"],
            nesterov=group["nesterov"],
            maximize=group["maximize"],
        )
        for state, buffer in zip(states, buffers, strict=False):
            state["momentum_buffer"] = buffer


def sgd(
    params: list[torch.Tensor],
    d_p_list: list[torch.Tensor],
    momentum_buffer_list: list[torch.Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    *,
    weight_decay: float | torch.Tensor,
    momentum: float,
    lr: float | torch.Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """One step of SGD over lists. Entries of ``momentum_buffer_list`` that are None get a tensor.

    On the host, and with ``fused``, the whole list is one kernel; ``foreach`` does not change what is computed.
    """
    native = fused or (not torch.is_grad_enabled() and lists.on_host(params))
    fresh = [position for position, buffer in enumerate(momentum_buffer_list) if buffer is None]
    if native and not any(param.is_complex() for param in params):
        for position in fresh:
            momentum_buffer_list[position] = torch.empty_like(
                d_p_list[position], memory_format=torch.preserve_format
            )
        first = set(fresh)
        for where in lists.by_device(params):
            for is_first in (True, False):
                chosen = [i for i in where if (i in first) == is_first]
                if chosen:
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
            buffers: list[torch.Tensor] = [momentum_buffer_list[position] for position in old]  # type: ignore[misc]
            _functions._foreach_mul_(buffers, momentum)
            _functions._foreach_add_(buffers, [gradients[position] for position in old], alpha=1 - dampening)
        for position in fresh:
            momentum_buffer_list[position] = gradients[position].detach().clone()
        momenta: list[torch.Tensor] = momentum_buffer_list  # type: ignore[assignment]
        gradients = list(_functions._foreach_add(gradients, momenta, alpha=momentum)) if nesterov else momenta
    lists.add_scaled_(params, gradients, -lr)
