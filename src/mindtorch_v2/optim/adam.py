"""Adam: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from .optimizer import (
    ParamsT,
    add_options,
    check_betas,
    check_fused,
    check_not_negative,
    check_rate,
    counter,
    make_steps_tensors,
    number,
    zeros_beside,
)


class Adam(lists.ListOptimizer):
    """``decoupled_weight_decay`` shrinks the parameters directly (AdamW) instead of adding to the
    gradient.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, torch.Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_rate(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        if isinstance(betas[0], torch.Tensor) != isinstance(betas[1], torch.Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        for index, beta in enumerate(betas):
            if isinstance(beta, torch.Tensor):
                if foreach and not capturable:
                    raise ValueError(
                        f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True"
                    )
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{index}] must be 1-element")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        add_options(
            self,
            amsgrad=False,
            maximize=False,
            foreach=None,
            capturable=False,
            differentiable=False,
            fused=None,
            decoupled_weight_decay=False,
        )
        make_steps_tensors(self, "step")

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {
            "step": counter(param, group),
            "exp_avg": zeros_beside(param),
            "exp_avg_sq": zeros_beside(param),
        }
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_beside(param)
        return state

    def _update(
        self,
        params: lists.Tensors,
        gradients: lists.Tensors,
        states: list[dict[str, Any]],
        group: dict[str, Any],
    ) -> None:
        beta1, beta2 = group["betas"]
        adam(
            params,
            gradients,
            lists.column(states, "exp_avg"),
            lists.column(states, "exp_avg_sq"),
            lists.column(states, "max_exp_avg_sq") if group["amsgrad"] else [],
            lists.column(states, "step"),
            foreach=group["foreach"],
            capturable=group["capturable"],
            differentiable=group["differentiable"],
            fused=group["fused"],
            grad_scale=getattr(self, "grad_scale", None),
            found_inf=getattr(self, "found_inf", None),
            decoupled_weight_decay=group["decoupled_weight_decay"],
            amsgrad=group["amsgrad"],
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
        )


def adam(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_avg_sqs: list[torch.Tensor],
    max_exp_avg_sqs: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | torch.Tensor,
    beta2: float | torch.Tensor,
    lr: float | torch.Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of Adam over lists of parameters and their state.

    On the host, and with ``fused``, the whole list is one kernel; ``foreach`` does not change what is computed.
    """
    lists.check_capturable(capturable, params, state_steps)
    as_tensors = capturable or differentiable
    params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs = lists.views_as_real(
        params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs
    )
    if fused or (not as_tensors and lists.on_host(params)):
        _functions._foreach_add_(state_steps, 1)
        step = _functions._fused_adamw_ if decoupled_weight_decay else _functions._fused_adam_
        for where in lists.by_device(params):
            step(
                lists.select(params, where),
                lists.select(grads, where),
                lists.select(exp_avgs, where),
                lists.select(exp_avg_sqs, where),
                lists.select(max_exp_avg_sqs, where),
                lists.select(state_steps, where),
                lr=lr,
                beta1=number(beta1),
                beta2=number(beta2),
                weight_decay=weight_decay,
                eps=eps,
                amsgrad=amsgrad,
                maximize=maximize,
                grad_scale=grad_scale,
                found_inf=found_inf,
            )
            lists.uncount(lists.select(state_steps, where), found_inf)
        return

    lr = lists.rate(lr, as_tensors)
    if not as_tensors:
        beta1, beta2 = number(beta1), number(beta2)
    grads = lists.ascending(grads, maximize)
    if decoupled_weight_decay:
        lists.shrink_(params, lr, weight_decay)
    else:
        grads = lists.with_decay(grads, params, weight_decay)
    steps = lists.next_steps(state_steps, as_tensors)
    lists.average_(exp_avgs, grads, beta1)
    lists.average_squares_(exp_avg_sqs, grads, beta2)
    if amsgrad:
        _functions._foreach_maximum_(max_exp_avg_sqs, exp_avg_sqs)
        exp_avg_sqs = max_exp_avg_sqs
    # Both averages start at zero; dividing by the corrections takes that bias out.
    spreads = lists.divide(
        list(_functions._foreach_sqrt(exp_avg_sqs)), [(1 - beta2**step) ** 0.5 for step in steps]
    )
    spreads = list(_functions._foreach_add(spreads, eps))
    lists.add_quotients_(params, exp_avgs, spreads, [-(lr / (1 - beta1**step)) for step in steps])
