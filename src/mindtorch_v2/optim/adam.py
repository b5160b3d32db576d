"""Adam: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from ._list_optimizer import ListOptimizer, scalar, step_of, zeros
from ._lists import Tensors
from ._options import Rate, declared, each_below_one, learning_rate, not_negative, option, switch
from .optimizer import number

__all__ = ["Adam", "adam"]


@declared(last_in_groups="foreach capturable differentiable fused decoupled_weight_decay")
class Adam(ListOptimizer):
    lr: Rate = option(default=1e-3, check=learning_rate)
    betas: tuple[Rate, Rate] = option(default=(0.9, 0.999), check=each_below_one, parts=("beta1", "beta2"))
    eps: float = option(default=1e-8, check=not_negative)
    weight_decay: float = option(default=0, check=not_negative)
    amsgrad: bool = switch(default=False, meaning="divides by the largest average of squares so far")
    _: KW_ONLY
    foreach: bool | None = switch(default=None)
    maximize: bool = switch(default=False)
    capturable: bool = switch(default=False)
    differentiable: bool = switch(default=False)
    fused: bool | None = switch(default=None)
    decoupled_weight_decay: bool = switch(default=False)

    _kept = {
        "step": scalar("state_steps"),
        "exp_avg": zeros("exp_avgs"),
        "exp_avg_sq": zeros("exp_avg_sqs"),
        "max_exp_avg_sq": zeros("max_exp_avg_sqs", when="amsgrad"),
    }

    def _check_options(self, options: dict[str, Any]) -> None:
        betas = options["betas"]
        tensors = {"lr": options["lr"], "betas[0]": betas[0], "betas[1]": betas[1]}
        for name, value in tensors.items():
            if isinstance(value, torch.Tensor):
                if options["foreach"] and not options["capturable"]:
                    raise ValueError(
                        f"{name} as a Tensor is not supported for capturable=False and foreach=True"
                    )
                if value.numel() != 1:
                    raise ValueError(f"Tensor {name} must be 1-element")
        if isinstance(betas[0], torch.Tensor) != isinstance(betas[1], torch.Tensor):
            raise ValueError("betas must be either both floats or both Tensors")


@step_of(Adam)
def adam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    max_exp_avg_sqs: Tensors,
    state_steps: Tensors,
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
    beta1: Rate,
    beta2: Rate,
    lr: Rate,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of Adam over lists of parameters and their state.

    With ``fused``, and where lists.in_one_kernel says so, the whole list is one kernel; ``foreach`` does not change
    what is computed.
    """
    lists.check_capturable(capturable, params, state_steps)
    as_tensors = capturable or differentiable
    params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs = lists.views_as_real(
        params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs
    )
    if fused or (not as_tensors and lists.in_one_kernel(params)):
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
    spreads = list(_functions._foreach_sqrt(exp_avg_sqs))
    corrections = [(1 - beta2**step) ** 0.5 for step in steps]
    if as_tensors:  # autograd may want what it would overwrite
        spreads = list(_functions._foreach_add(lists.divide(spreads, corrections), eps))
    else:
        _functions._foreach_div_(spreads, lists.number_or_list(corrections))
        _functions._foreach_add_(spreads, eps)
    lists.add_quotients_(params, exp_avgs, spreads, [-(lr / (1 - beta1**step)) for step in steps])
