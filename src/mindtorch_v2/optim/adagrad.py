"""Adagrad: steps scaled by the sum of all squares of the gradient so far."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from .optimizer import (
    ParamsT,
    add_options,
    check_fused,
    check_not_negative,
    check_rate,
    counter,
    make_steps_tensors,
    number,
)


class Adagrad(lists.ListOptimizer):
    """``lr_decay`` lowers the learning rate with the number of steps."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(self)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param].update(self._new_state(param, group))

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any]:
        start = group["initial_accumulator_value"]
        if param.is_complex():
            start = complex(start, start)
        total = torch.full_like(param, start, memory_format=torch.preserve_format)
        return {"step": counter(param, group), "sum": total}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        add_options(self, foreach=None, maximize=False, differentiable=False, fused=None)
        make_steps_tensors(self, "step")

    def share_memory(self) -> None:
        """Moves the state into memory that other processes can see."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _update(
        self,
        params: lists.Tensors,
        gradients: lists.Tensors,
        states: list[dict[str, Any]],
        group: dict[str, Any],
    ) -> None:
        adagrad(
            params,
            gradients,
            lists.column(states, "sum"),
            lists.column(states, "step"),
            fused=group["fused"],
            grad_scale=getattr(self, "grad_scale", None),
            found_inf=getattr(self, "found_inf", None),
            foreach=group["foreach"],
            differentiable=group["differentiable"],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            lr_decay=group["lr_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
        )


def adagrad(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    state_sums: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    fused: bool | None = None,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | torch.Tensor,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of Adagrad over lists. On the host the whole list is one kernel."""
    params, grads, state_sums = lists.views_as_real(params, grads, state_sums)
    if not differentiable and lists.on_host(params):
        _functions._foreach_add_(state_steps, 1)
        for where in lists.by_device(params):
            _functions._fused_adagrad_(
                lists.select(params, where),
                lists.select(grads, where),
                lists.select(state_sums, where),
                lists.select(state_steps, where),
                lr=number(lr),
                lr_decay=lr_decay,
                weight_decay=weight_decay,
                eps=eps,
                maximize=maximize,
                grad_scale=grad_scale,
                found_inf=found_inf,
            )
            lists.uncount(lists.select(state_steps, where), found_inf)
        return
    steps = lists.next_steps(state_steps, as_tensors=False)
    grads = lists.ascending(grads, maximize)
    grads = lists.with_decay(grads, params, weight_decay)
    _functions._foreach_addcmul_(state_sums, grads, grads, 1)
    spreads = list(_functions._foreach_add(_functions._foreach_sqrt(state_sums), eps))
    rate = lists.rate(lr, differentiable)
    lists.add_quotients_(params, grads, spreads, [-(rate / (1 + (step - 1) * lr_decay)) for step in steps])
