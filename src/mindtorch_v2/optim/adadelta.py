"""Adadelta: steps scaled by running averages of the squares of gradients and of updates."""

from __future__ import annotations

from dataclasses import KW_ONLY

from .._C import _functions
from . import _lists as lists
from ._list_optimizer import ListOptimizer, scalar, step_of, zeros
from ._lists import Tensors
from ._options import Rate, declared, learning_rate, not_above_one, not_negative, option, switch

__all__ = ["Adadelta", "adadelta"]


@declared(last_in_groups="maximize capturable foreach differentiable")
class Adadelta(ListOptimizer):
    lr: Rate = option(default=1.0, check=learning_rate)
    rho: float = option(default=0.9, check=not_above_one, meaning="how much of both averages is kept")
    eps: float = option(default=1e-6, check=not_negative)
    weight_decay: float = option(default=0, check=not_negative)
    foreach: bool | None = switch(default=None)
    _: KW_ONLY
    capturable: bool = switch(default=False)
    maximize: bool = switch(default=False)
    differentiable: bool = switch(default=False)

    _kept = {
        "step": scalar("state_steps"),
        "square_avg": zeros("square_avgs"),
        "acc_delta": zeros("acc_deltas"),
    }


@step_of(Adadelta)
def adadelta(
    params: Tensors,
    grads: Tensors,
    square_avgs: Tensors,
    acc_deltas: Tensors,
    state_steps: Tensors,
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: Rate,
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
