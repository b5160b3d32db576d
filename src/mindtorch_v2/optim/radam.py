"""RAdam: Adam whose first steps are plain descent, until the average of squares can be trusted."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

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


class RAdam(lists.ListOptimizer):
    """Adam that rectifies the variance of its first steps."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        add_options(
            self,
            maximize=False,
            foreach=None,
            capturable=False,
            differentiable=False,
            decoupled_weight_decay=False,
        )
        make_steps_tensors(self, "step")

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": counter(param, group),
            "exp_avg": zeros_beside(param),
            "exp_avg_sq": zeros_beside(param),
        }

    def _update(
        self,
        params: lists.Tensors,
        gradients: lists.Tensors,
        states: list[dict[str, Any]],
        group: dict[str, Any],
    ) -> None:
        beta1, beta2 = group["betas"]
        radam(
            params,
            gradients,
            lists.column(states, "exp_avg"),
            lists.column(states, "exp_avg_sq"),
            lists.column(states, "step"),
            decoupled_weight_decay=group["decoupled_weight_decay"],
            foreach=group["foreach"],
            differentiable=group["differentiable"],
            capturable=group["capturable"],
            maximize=group["maximize"],
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
        )


def radam(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_avg_sqs: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float | torch.Tensor,
    weight_decay: float,
    eps: float,
) -> None:
    """One step of RAdam over lists of parameters and their state."""
    lists.check_capturable(capturable, params, state_steps)
    params, grads, exp_avgs, exp_avg_sqs = lists.views_as_real(params, grads, exp_avgs, exp_avg_sqs)
    rate = lists.rate(lr, capturable or differentiable)
    steps = lists.next_steps(state_steps, capturable)
    grads = lists.ascending(grads, maximize)
    if decoupled_weight_decay:
        lists.shrink_(params, rate, weight_decay)
    else:
        grads = lists.with_decay(grads, params, weight_decay)
    lists.average_(exp_avgs, grads, beta1)
    lists.average_squares_(exp_avg_sqs, grads, beta2)
    averages = lists.multiply(
        lists.divide(exp_avgs, [1 - beta1**step for step in steps]), [rate] * len(steps)
    )
    factors = [_rectified(square, step, beta2, eps) for square, step in zip(exp_avg_sqs, steps, strict=True)]
    for param, average, factor in zip(params, averages, factors, strict=True):
        param.add_(average if factor is None else average * factor, alpha=-1.0)


def _rectified(square: torch.Tensor, step: Any, beta2: float, eps: float) -> Any:
    """What the averages are multiplied by; None while there is too little to estimate a variance from."""
    limit = 2 / (1 - beta2) - 1
    correction = 1 - beta2**step
    length = limit - 2 * step * (beta2**step) / correction
    if not isinstance(length, torch.Tensor):
        if length <= 5.0:
            return None
        return (correction**0.5 / torch.sqrt(square).add_(eps)) * _rectification(length, limit)
    factor = torch.sqrt(correction) / (torch.sqrt(square) + eps) * _rectification(length, limit)
    return torch.where(length > 5.0, factor, 1.0)


def _rectification(length: Any, limit: float) -> Any:
    ratio = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
    return ratio**0.5
