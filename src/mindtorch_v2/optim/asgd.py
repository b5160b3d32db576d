"""Averaged stochastic gradient descent."""

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
    number,
    zeros_beside,
)


class ASGD(lists.ListOptimizer):
    """The average of the parameters (``ax`` in the state) begins after ``t0`` steps."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
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
        make_steps_tensors(self, "step", "eta", "mu")

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": counter(param, group),
            "eta": counter(param, group, float(number(group["lr"]))),
            "mu": counter(param, group, 1.0),
            "ax": zeros_beside(param),
        }

    def _update(
        self,
        params: lists.Tensors,
        gradients: lists.Tensors,
        states: list[dict[str, Any]],
        group: dict[str, Any],
    ) -> None:
        asgd(
            params,
            gradients,
            lists.column(states, "ax"),
            lists.column(states, "mu"),
            lists.column(states, "eta"),
            lists.column(states, "step"),
            foreach=group["foreach"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
            capturable=group["capturable"],
            lambd=group["lambd"],
            lr=group["lr"],
            t0=group["t0"],
            alpha=group["alpha"],
            weight_decay=group["weight_decay"],
        )


def asgd(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    axs: list[torch.Tensor],
    mus: list[torch.Tensor],
    etas: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float | torch.Tensor,
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
