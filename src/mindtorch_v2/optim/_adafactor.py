"""Adafactor: the average of squares of a matrix kept as one row and one column."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import mindtorch_v2 as torch

from . import _lists as lists
from ._list_optimizer import ListOptimizer, scalar, step_of
from ._lists import Tensors
from ._options import DECOUPLED, Rate, declared, option, should_be, switch
from .optimizer import counter, number, zeros_beside


def _epsilons(name: str, eps: Any) -> None:
    for position, value in enumerate(eps, 1):
        if not (position == 1 and value is None) and not 0.0 <= value:
            raise ValueError(f"epsilon{position} should be >= 0 but is: {value}")


@declared()
class Adafactor(ListOptimizer):
    lr: Rate = option(default=1e-2, check=should_be("Learning rate", ">=", 0))
    beta2_decay: float = option(
        default=-0.8,
        check=should_be("beta2_decay", "<=", 0),
        meaning="the power of the step that a square weighs",
    )
    eps: tuple[float | None, float] = option(
        default=(None, 1e-3),
        check=_epsilons,
        parts=("eps1", "eps2"),
        meaning="the least square (None: by the dtype) and the least scale of the parameters",
    )
    d: float = option(
        default=1.0,
        check=should_be("Clipping threshold d", ">=", 1),
        meaning="limits how large an update may be",
    )
    weight_decay: float = option(default=0.0, check=should_be("weight_decay", ">=", 0), meaning=DECOUPLED)
    _: KW_ONLY
    foreach: bool | None = switch(default=None)
    maximize: bool = switch(default=False)

    _kept = {"step": scalar("state_steps")}

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if param.dim() <= 1:
            variances = {"variance": zeros_beside(param)}
        else:
            rows, columns = list(param.shape), list(param.shape)
            rows[-1], columns[-2] = 1, 1
            variances = {"row_var": param.new_zeros(rows), "col_var": param.new_zeros(columns)}
        return {"step": counter(param, group), **variances}

    def _columns(self, states: list[Any], group: dict[str, Any]) -> dict[str, list[Any]]:
        names = ("row_var", "col_var", "variance")
        return super()._columns(states, group) | {f"{n}s": [state.get(n) for state in states] for n in names}


@step_of(Adafactor, "row_vars", "col_vars", "variances")
def adafactor(
    params: Tensors,
    grads: Tensors,
    row_vars: list[torch.Tensor | None],
    col_vars: list[torch.Tensor | None],
    variances: list[torch.Tensor | None],
    state_steps: Tensors,
    foreach: bool | None = None,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: Rate,
    beta2_decay: float,
    weight_decay: float,
    eps1: float | None,
    eps2: float,
    maximize: bool,
) -> None:
    """One step of Adafactor over lists of parameters and their state."""
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Grad scaling should occur outside of optimizer.step()")
    lr = number(lr)
    steps = lists.next_steps(state_steps, as_tensors=False)
    grads = lists.ascending(grads, maximize)
    for i, (param, grad, step) in enumerate(zip(params, grads, steps, strict=True)):
        epsilon = torch.finfo(param.dtype).eps if eps1 is None else eps1
        size = param.norm(2).item() / (param.numel() ** 0.5)
        rate = max(eps2, size) * min(lr, 1 / (step**0.5))
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        update = _variance(grad, row_vars[i], col_vars[i], variances[i], step**beta2_decay, epsilon)
        update = update.clamp_(min=epsilon * epsilon).rsqrt_().mul_(grad)
        limit = max(1.0, update.norm(2).item() / ((update.numel() ** 0.5) * d))
        param.add_(update, alpha=-rate / limit)


def _variance(
    grad: torch.Tensor,
    row: torch.Tensor | None,
    column: torch.Tensor | None,
    full: torch.Tensor | None,
    weight: float,
    epsilon: float,
) -> torch.Tensor:
    """The running average of squares, after the gradient has entered it with ``weight``."""
    if row is None or column is None:
        if full is None:
            raise AssertionError("variance should be defined when grad is a vector")
        return full.lerp_(grad.square(), weight).clone()
    row.lerp_(torch.norm(grad, dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
    column.lerp_(torch.norm(grad, dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
    return (row @ column).div_(row.mean(dim=-2, keepdim=True).clamp_(min=epsilon))


Adafactor.__module__ = __package__  # as files name it
