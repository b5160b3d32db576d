"""NAdam: Adam that looks one step of the momentum ahead."""

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


class NAdam(lists.ListOptimizer):
    """``momentum_decay`` is how fast the momentum approaches ``betas[0]``."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
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
        make_steps_tensors(self, "step", "mu_product")

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": counter(param, group),
            "mu_product": counter(param, group, 1.0),
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
        nadam(
            params,
            gradients,
            lists.column(states, "exp_avg"),
            lists.column(states, "exp_avg_sq"),
            lists.column(states, "mu_product"),
            lists.column(states, "step"),
            decoupled_weight_decay=group["decoupled_weight_decay"],
            foreach=group["foreach"],
            capturable=group["capturable"],
            differentiable=group["differentiable"],
            maximize=group["maximize"],
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            momentum_decay=group["momentum_decay"],
            eps=group["eps"],
        )


def nadam(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_avg_sqs: list[torch.Tensor],
    mu_products: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float | torch.Tensor,
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
