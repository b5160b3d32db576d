"""Adadelta: steps scaled by running averages of the squares of gradients and of updates."""

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


class Adadelta(lists.ListOptimizer):
    """``rho`` is how much of both averages is kept."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        add_options(self, foreach=None, maximize=False, differentiable=False, capturable=False)
        make_steps_tensors(self, "step")

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": counter(param, group),
            "square_avg": zeros_beside(param),
            "acc_delta": zeros_beside(param),
        }

    def _update(
        self,
        params: lists.Tensors,
        gradients: lists.Tensors,
        states: list[dict[str, Any]],
        group: dict[str, Any],
    ) -> None:
        adadelta(
            params,
            gradients,
            lists.column(states, "square_avg"),
            lists.column(states, "acc_delta"),
            lists.column(states, "step"),
            capturable=group["capturable"],
            foreach=group["foreach"],
            differentiable=group["differentiable"],
            lr=group["lr"],
            rho=group["rho"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )


def adadelta(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    square_avgs: list[torch.Tensor],
    acc_deltas: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | torch.Tensor,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """One step of Adadelta over lists of parameters and their state."""
    lists.check_capturable(capturable, params, state_steps)
    lists.next_steps(state_steps, as_tensors=True)  # counted, but not read
    grads = lists.ascending(grads, maximize)
    grads = lists.with_decay(grads, params, weight_decay)
    params, grads, square_avgs, acc_deltas = lists.views_as_real(params, grads, square_avgs, acc_deltas)
    lists.average_squares_(square_avgs, grads, rho)
    spreads = _functions._foreach_sqrt(_functions._foreach_add(square_avgs, eps))
    deltas = _functions._foreach_sqrt(_functions._foreach_add(acc_deltas, eps))
    updates = list(_functions._foreach_mul(_functions._foreach_div(deltas, spreads), grads))
    lists.average_squares_(acc_deltas, updates, rho)
    lists.add_scaled_(params, updates, -lists.rate(lr, capturable or differentiable))
