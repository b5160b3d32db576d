"""RMSprop: gradients divided by the root of the running average of their squares."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from .optimizer import (
    ParamsT,
    add_options,
    check_not_negative,
    check_rate,
    counter,
    make_steps_tensors,
    zeros_beside,
)


class RMSprop(lists.ListOptimizer):
    """``centered`` divides by the standard deviation instead."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        add_options(
            self,
            momentum=0,
            centered=False,
            foreach=None,
            maximize=False,
            differentiable=False,
            capturable=False,
        )
        make_steps_tensors(self, "step")

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": counter(param, group), "square_avg": zeros_beside(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_beside(param)
        if group["centered"]:
            state["grad_avg"] = zeros_beside(param)
        return state

    def _update(
        self,
        params: lists.Tensors,
        gradients: lists.Tensors,
        states: list[dict[str, Any]],
        group: dict[str, Any],
    ) -> None:
        rmsprop(
            params,
            gradients,
            lists.column(states, "square_avg"),
            lists.column(states, "grad_avg") if group["centered"] else [],
            lists.column(states, "momentum_buffer") if group["momentum"] > 0 else [],
            lists.column(states, "step"),
            foreach=group["foreach"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
            capturable=group["capturable"],
            lr=group["lr"],
            alpha=group["alpha"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            centered=group["centered"],
        )


def rmsprop(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    square_avgs: list[torch.Tensor],
    grad_avgs: list[torch.Tensor],
    momentum_buffer_list: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | torch.Tensor,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """One step of RMSprop over lists of parameters and their state."""
    lists.check_capturable(capturable, params, state_steps)
    lists.next_steps(state_steps, as_tensors=True)  # counted, but not read
    rate = lists.rate(lr, capturable or differentiable)
    grads = lists.ascending(grads, maximize)
    grads = lists.with_decay(grads, params, weight_decay)
    params, grads, square_avgs, grad_avgs, momentum_buffer_list = lists.views_as_real(
        params, grads, square_avgs, grad_avgs, momentum_buffer_list
    )
    lists.average_squares_(square_avgs, grads, alpha)
    if centered:
        lists.average_(grad_avgs, grads, alpha)
        spreads = _functions._foreach_sqrt(_functions._foreach_addcmul(square_avgs, grad_avgs, grad_avgs, -1))
    else:
        spreads = _functions._foreach_sqrt(square_avgs)
    spreads = _functions._foreach_add(spreads, eps)
    if momentum > 0:
        _functions._foreach_mul_(momentum_buffer_list, momentum)
        _functions._foreach_addcdiv_(momentum_buffer_list, grads, spreads)
        lists.add_scaled_(params, momentum_buffer_list, -rate)
    else:
        lists.add_quotients_(params, grads, list(spreads), [-rate] * len(params))
