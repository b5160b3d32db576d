"""RAdam: Adam whose first steps are plain descent, until the average of squares can be trusted."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import mindtorch_v2 as torch

from . import _lists as lists
from ._list_optimizer import ListOptimizer, scalar, step_of, zeros
from ._lists import Tensors
from ._options import Rate, declared, each_below_one, learning_rate, not_negative, option, switch

__all__ = ["RAdam", "radam"]


@declared(last_in_groups="foreach capturable decoupled_weight_decay differentiable")
class RAdam(ListOptimizer):
    """Adam that rectifies the variance of its first steps."""

    lr: Rate = option(default=1e-3, check=learning_rate)
    betas: tuple[float, float] = option(default=(0.9, 0.999), check=each_below_one, parts=("beta1", "beta2"))
    eps: float = option(default=1e-8, check=not_negative)
    weight_decay: float = option(default=0, check=not_negative)
    decoupled_weight_decay: bool = switch(default=False)
    _: KW_ONLY
    foreach: bool | None = switch(default=None)
    maximize: bool = switch(default=False)
    capturable: bool = switch(default=False)
    differentiable: bool = switch(default=False)

    _kept = {
        "step": scalar("state_steps"),
        "exp_avg": zeros("exp_avgs"),
        "exp_avg_sq": zeros("exp_avg_sqs"),
    }


@step_of(RAdam)
def radam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    state_steps: Tensors,
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: Rate,
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
