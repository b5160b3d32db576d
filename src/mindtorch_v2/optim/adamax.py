"""Adamax: Adam whose scale is the largest gradient, which fades."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from .optimizer import (
    ParamsT,
    add_options,
    check_betas,
    check_not_negative,
    check_rate,
    counter,
    make_steps_tensors,
    zeros_beside,
)


class Adamax(lists.ListOptimizer):
    """Steps are divided by the largest gradient so far, which ``betas[1]`` lets fade."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        add_options(self, foreach=None, maximize=False, differentiable=False, capturable=False)
        make_steps_tensors(self, "step")

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": counter(param, group),
            "exp_avg": zeros_beside(param),
            "exp_inf": zeros_beside(param),
        }

    def _update(
        self,
        params: lists.Tensors,
        gradients: lists.Tensors,
        states: list[dict[str, Any]],
        group: dict[str, Any],
    ) -> None:
        beta1, beta2 = group["betas"]
        adamax(
            params,
            gradients,
            lists.column(states, "exp_avg"),
            lists.column(states, "exp_inf"),
            lists.column(states, "step"),
            foreach=group["foreach"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
            capturable=group["capturable"],
            eps=group["eps"],
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
        )


def adamax(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_infs: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float | torch.Tensor,
    weight_decay: float,
) -> None:
    """One step of Adamax over lists of parameters and their state."""
    lists.check_capturable(capturable, params, state_steps)
    as_tensors = capturable or differentiable
    steps = lists.next_steps(state_steps, as_tensors)
    grads = lists.ascending(grads, maximize)
    grads = lists.with_decay(grads, params, weight_decay)
    params, grads, exp_avgs, exp_infs = lists.views_as_real(params, grads, exp_avgs, exp_infs)
    lists.average_(exp_avgs, grads, beta1)
    _functions._foreach_mul_(exp_infs, beta2)
    _functions._foreach_maximum_(exp_infs, _functions._foreach_add(_functions._foreach_abs(grads), eps))
    rate = lists.rate(lr, as_tensors)
    lists.add_quotients_(params, exp_avgs, exp_infs, [-(rate / (1 - beta1**step)) for step in steps])
