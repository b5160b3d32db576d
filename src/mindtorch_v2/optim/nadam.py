"""NAdam: Adam that looks one step of the momentum ahead."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from .._C import _functions
from . import _lists as lists
from ._list_optimizer import ListOptimizer, scalar, step_of, zeros
from ._lists import Tensors
from ._options import Rate, declared, each_below_one, learning_rate, not_negative, option, switch

__all__ = ["NAdam", "nadam"]


@declared(last_in_groups="foreach capturable differentiable")
class NAdam(ListOptimizer):
    lr: Rate = option(default=2e-3, check=learning_rate)
    betas: tuple[float, float] = option(default=(0.9, 0.999), check=each_below_one, parts=("beta1", "beta2"))
    eps: float = option(default=1e-8, check=not_negative)
    weight_decay: float = option(default=0, check=not_negative)
    momentum_decay: float = option(
        default=4e-3, check=not_negative, meaning="how fast the momentum approaches ``betas[0]``"
    )
    decoupled_weight_decay: bool = switch(default=False)
    _: KW_ONLY
    foreach: bool | None = switch(default=None)
    maximize: bool = switch(default=False)
    capturable: bool = switch(default=False)
    differentiable: bool = switch(default=False)

    _kept = {
        "step": scalar("state_steps"),
        "mu_product": scalar("mu_products", first=lambda group: 1.0),
        "exp_avg": zeros("exp_avgs"),
        "exp_avg_sq": zeros("exp_avg_sqs"),
    }


@step_of(NAdam)
def nadam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    mu_products: Tensors,
    state_steps: Tensors,
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: Rate,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """One step of NAdam over lists of parameters and their state."""
    lists.check_capturable(capturable, params, mu_products, state_steps, names="params, mu_products")
    as_tensors = capturable or differentiable
    params, grads, exp_avgs, exp_avg_sqs = lists.views_as_real(params, grads, exp_avgs, exp_avg_sqs)
    rate = lists.rate(lr, as_tensors)
    steps = lists.next_steps(state_steps, capturable)
    grads = lists.ascending(grads, maximize)
    if decoupled_weight_decay:
        lists.shrink_(params, rate, weight_decay)
    else:
        grads = lists.with_decay(grads, params, weight_decay)

    def momentum(step: Any) -> Any:
        return beta1 * (1.0 - 0.5 * (0.96 ** (step * momentum_decay)))

    now = [momentum(step) for step in steps]
    ahead = [momentum(step + 1) for step in steps]
    for product, mu in zip(mu_products, now, strict=True):
        product.mul_(mu)
    products: list[Any] = list(mu_products) if as_tensors else [product.item() for product in mu_products]
    lists.average_(exp_avgs, grads, beta1)
    lists.average_squares_(exp_avg_sqs, grads, beta2)
    spreads = list(_functions._foreach_sqrt(lists.divide(exp_avg_sqs, [1 - beta2**step for step in steps])))
    spreads = list(_functions._foreach_add(spreads, eps))
    of_gradients = [-rate * (1.0 - mu) / (1.0 - p) for mu, p in zip(now, products, strict=True)]
    of_averages = [-rate * mu / (1.0 - p * mu) for mu, p in zip(ahead, products, strict=True)]
    lists.add_quotients_(params, grads, spreads, of_gradients)
    lists.add_quotients_(params, exp_avgs, spreads, of_averages)
