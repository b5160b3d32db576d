"""Adamax: Adam whose scale is the largest gradient, which fades."""

from __future__ import annotations

from dataclasses import KW_ONLY

from .._C import _functions
from . import _lists as lists
from ._list_optimizer import ListOptimizer, scalar, step_of, zeros
from ._lists import Tensors
from ._options import Rate, declared, each_below_one, learning_rate, not_negative, option, switch

__all__ = ["Adamax", "adamax"]


@declared()
class Adamax(ListOptimizer):
    """Steps are divided by the largest gradient so far, which ``betas[1]`` lets fade."""

    lr: Rate = option(default=2e-3, check=learning_rate)
    betas: tuple[float, float] = option(default=(0.9, 0.999), check=each_below_one, parts=("beta1", "beta2"))
    eps: float = option(default=1e-8, check=not_negative)
    weight_decay: float = option(default=0, check=not_negative)
    foreach: bool | None = switch(default=None)
    _: KW_ONLY
    maximize: bool = switch(default=False)
    differentiable: bool = switch(default=False)
    capturable: bool = switch(default=False)

    _kept = {"step": scalar("state_steps"), "exp_avg": zeros("exp_avgs"), "exp_inf": zeros("exp_infs")}


@step_of(Adamax)
def adamax(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_infs: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: Rate,
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
