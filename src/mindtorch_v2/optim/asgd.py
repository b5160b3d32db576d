"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from ._list_optimizer import ListOptimizer, scalar, step_of, zeros
from ._lists import Tensors
from ._options import Rate, declared, learning_rate, not_negative, option, switch
from .optimizer import number

__all__ = ["ASGD", "asgd"]


@declared()
class ASGD(ListOptimizer):
    lr: Rate = option(default=1e-2, check=learning_rate)
    lambd: float = option(default=1e-4, meaning="how fast the parameters and the learning rate decay")
    alpha: float = option(default=0.75, meaning="the power with which the learning rate falls")
    t0: float = option(default=1e6, meaning="after how many steps the average (``ax`` in the state) begins")
    weight_decay: float = option(default=0, check=not_negative)
    foreach: bool | None = switch(default=None)
    maximize: bool = switch(default=False)
    differentiable: bool = switch(default=False)
    capturable: bool = switch(default=False)

    _kept = {
        "step": scalar("state_steps"),
        "eta": scalar("etas", first=lambda group: float(number(group["lr"]))),
        "mu": scalar("mus", first=lambda group: 1.0),
        "ax": zeros("axs"),
    }


@step_of(ASGD)
def asgd(
    params: Tensors,
    grads: Tensors,
    axs: Tensors,
    mus: Tensors,
    etas: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: Rate,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """One step of averaged SGD over lists of parameters and their state."""
    lists.check_capturable(capturable, params, mus, etas, state_steps, names="params, mus, etas,")
    params, grads, axs = lists.views_as_real(params, grads, axs)
    rate = lists.rate(lr, capturable)
    steps = lists.next_steps(state_steps, capturable)
    grads = lists.ascending(grads, maximize)
    grads = lists.with_decay(grads, params, weight_decay)
    rates: list[Any] = list(etas) if capturable else [eta.item() for eta in etas]
    shares: list[Any] = list(mus) if capturable else [mu.item() for mu in mus]
    if capturable:
        _functions._foreach_mul_(params, [1 - lambd * eta for eta in rates])
        _functions._foreach_sub_(params, lists.multiply(grads, rates))
    else:
        _functions._foreach_mul_(params, [1 - lambd * eta for eta in rates])
        for param, grad, eta in zip(params, grads, rates, strict=True):
            param.add_(grad, alpha=-eta)
    for average, param, share in zip(axs, params, shares, strict=True):
        if capturable or share != 1:
            average.add_(param.sub(average).mul_(share))
        else:
            average.copy_(param)
    for eta, mu, step in zip(etas, mus, steps, strict=True):
        if capturable:
            eta.copy_(rate / ((1 + lambd * rate * step) ** alpha))
            mu.copy_(1 / torch.clamp_min(step - t0, 1))
        else:
            eta.fill_(rate / ((1 + lambd * rate * step) ** alpha))
            mu.fill_(1 / max(1, step - t0))
