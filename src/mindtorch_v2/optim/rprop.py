"""Rprop: each element has a step size of its own, which grows while the sign of the gradient stays."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from ._list_optimizer import Kept, ListOptimizer, scalar, step_of, zeros
from ._lists import Tensors
from ._options import Rate, declared, learning_rate, option, switch
from .optimizer import number

__all__ = ["Rprop", "rprop"]


def _eta_values(name: str, etas: Any) -> None:
    if not 0.0 < etas[0] < 1.0 < etas[1]:
        raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")


def _first_size(param: torch.Tensor, group: dict[str, Any]) -> torch.Tensor:
    lr = float(number(group["lr"]))
    start = complex(lr, lr) if param.is_complex() else lr
    return torch.full_like(param.grad, start)  # type: ignore[arg-type]


@declared(last_in_groups="capturable")
class Rprop(ListOptimizer):
    lr: Rate = option(default=1e-2, check=learning_rate, meaning="the size of the first step")
    etas: tuple[float, float] = option(
        default=(0.5, 1.2),
        check=_eta_values,
        parts=("etaminus", "etaplus"),
        meaning="the factors of a step's size after a change of sign, and without one",
    )
    step_sizes: tuple[float, float] = option(
        default=(1e-6, 50), parts=("step_size_min", "step_size_max"), meaning="the limits of a step's size"
    )
    _: KW_ONLY
    capturable: bool = switch(default=False)
    foreach: bool | None = switch(default=None)
    maximize: bool = switch(default=False)
    differentiable: bool = switch(default=False)

    _kept = {
        "step": scalar("state_steps"),
        "prev": zeros("prevs"),
        "step_size": Kept("step_sizes", _first_size),
    }


@step_of(Rprop)
def rprop(
    params: Tensors,
    grads: Tensors,
    prevs: Tensors,
    step_sizes: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """One step of Rprop over lists of parameters and their state."""
    lists.check_capturable(capturable, params, state_steps)
    lists.next_steps(state_steps, as_tensors=True)  # counted, but not read
    grads = lists.ascending(grads, maximize)
    params, grads, prevs, step_sizes = lists.views_as_real(params, grads, prevs, step_sizes)
    signs = _functions._foreach_sign(_functions._foreach_mul(grads, prevs))
    factors = [
        torch.ones_like(sign).masked_fill_(sign > 0, etaplus).masked_fill_(sign < 0, etaminus)
        for sign in signs
    ]
    _functions._foreach_mul_(step_sizes, factors)
    _functions._foreach_clamp_min_(step_sizes, step_size_min)
    _functions._foreach_clamp_max_(step_sizes, step_size_max)
    # Where the sign changed, the step was too large: no move now, and no sign to compare with next time.
    grads = [grad.masked_fill(sign < 0, 0) for grad, sign in zip(grads, signs, strict=True)]
    _functions._foreach_addcmul_(params, _functions._foreach_sign(grads), step_sizes, -1)
    _functions._foreach_copy_(prevs, grads)
