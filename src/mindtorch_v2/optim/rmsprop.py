"""RMSprop: gradients divided by the root of the running average of their squares."""

from __future__ import annotations

from .._C import _functions
from . import _lists as lists
from ._list_optimizer import ListOptimizer, scalar, step_of, zeros
from ._lists import Tensors
from ._options import Rate, declared, learning_rate, not_negative, option, switch

__all__ = ["RMSprop", "rmsprop"]


@declared(last_in_groups="alpha eps centered weight_decay capturable foreach maximize differentiable")
class RMSprop(ListOptimizer):
    lr: Rate = option(default=1e-2, check=learning_rate)
    alpha: float = option(default=0.99, check=not_negative, meaning="how much of the average is kept")
    eps: float = option(default=1e-8, check=not_negative)
    weight_decay: float = option(default=0, check=not_negative)
    momentum: float = option(default=0, check=not_negative, later=True)
    centered: bool = switch(default=False, meaning="divides by the standard deviation instead")
    capturable: bool = switch(default=False)
    foreach: bool | None = switch(default=None)
    maximize: bool = switch(default=False)
    differentiable: bool = switch(default=False)

    _kept = {
        "step": scalar("state_steps"),
        "square_avg": zeros("square_avgs"),
        "momentum_buffer": zeros("momentum_buffer_list", when="momentum"),
        "grad_avg": zeros("grad_avgs", when="centered"),
    }


@step_of(RMSprop)
def rmsprop(
    params: Tensors,
    grads: Tensors,
    square_avgs: Tensors,
    grad_avgs: Tensors,
    momentum_buffer_list: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: Rate,
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
