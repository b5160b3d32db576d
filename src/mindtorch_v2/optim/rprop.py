"""Rprop: each element has a step size of its own, which grows while the sign of the gradient stays."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from .optimizer import ParamsT, add_options, check_rate, counter, make_steps_tensors, number, zeros_beside


class Rprop(lists.ListOptimizer):
    """``etas`` are the factors after a change of sign and without one; ``step_sizes`` the limits."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        add_options(self, foreach=None, maximize=False, differentiable=False, capturable=False)
        make_steps_tensors(self, "step")

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = float(number(group["lr"]))
        start = complex(lr, lr) if param.is_complex() else lr
        return {
            "step": counter(param, group),
            "prev": zeros_beside(param),
            "step_size": torch.full_like(param.grad, start),  # type: ignore[arg-type]
        }

    def _update(
        self,
        params: lists.Tensors,
        gradients: lists.Tensors,
        states: list[dict[str, Any]],
        group: dict[str, Any],
    ) -> None:
        etaminus, etaplus = group["etas"]
        smallest, largest = group["step_sizes"]
        rprop(
            params,
            gradients,
            lists.column(states, "prev"),
            lists.column(states, "step_size"),
            lists.column(states, "step"),
            foreach=group["foreach"],
            capturable=group["capturable"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
            step_size_min=smallest,
            step_size_max=largest,
            etaminus=etaminus,
            etaplus=etaplus,
        )


def rprop(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    prevs: list[torch.Tensor],
    step_sizes: list[torch.Tensor],
    state_steps: list[torch.Tensor],
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
