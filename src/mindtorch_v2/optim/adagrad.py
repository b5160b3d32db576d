"""Adagrad: steps scaled by the sum of all squares of the gradient so far."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from ._list_optimizer import Kept, ListOptimizer, scalar, step_of
from ._lists import Tensors
from ._options import Rate, declared, learning_rate, not_negative, option, switch
from .optimizer import number

__all__ = ["Adagrad", "adagrad"]


def _first_sum(param: torch.Tensor, group: dict[str, Any]) -> torch.Tensor:
    start = group["initial_accumulator_value"]
    if param.is_complex():
        start = complex(start, start)
    return torch.full_like(param, start, memory_format=torch.preserve_format)


@declared(last_in_groups="weight_decay initial_accumulator_value foreach maximize differentiable fused")
class Adagrad(ListOptimizer):
    lr: Rate = option(default=1e-2, check=learning_rate)
    lr_decay: float = option(
        default=0, check=not_negative, meaning="how fast the learning rate falls with the number of steps"
    )
    weight_decay: float = option(default=0, check=not_negative)
    initial_accumulator_value: float = option(
        default=0, check=not_negative, meaning="what the sums begin with"
    )
    eps: float = option(default=1e-10, check=not_negative)
    foreach: bool | None = switch(default=None)
    _: KW_ONLY
    maximize: bool = switch(default=False)
    differentiable: bool = switch(default=False)
    fused: bool | None = switch(default=None)

    _takes_sparse = True
    _kept = {"step": scalar("state_steps"), "sum": Kept("state_sums", _first_sum)}

    def _prepare(self) -> None:
        super()._prepare()
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = self._new_state(param, group)

    def share_memory(self) -> None:
        """Moves the state into memory that other processes can see."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()


@step_of(Adagrad)
def adagrad(
    params: Tensors,
    grads: Tensors,
    state_sums: Tensors,
    state_steps: Tensors,
    fused: bool | None = None,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: Rate,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of Adagrad over lists: one kernel where lists.in_one_kernel says so."""
    if sparse := lists.sparse_places(grads):
        dense = [place for place in range(len(params)) if place not in set(sparse)]
        options: dict[str, Any] = {"lr": lr, "weight_decay": weight_decay, "lr_decay": lr_decay, "eps": eps}
        options["maximize"] = maximize
        for place in sparse:
            _step_of_sparse(params[place], grads[place], state_sums[place], state_steps[place], **options)
        if dense:
            options.update(
                fused=fused, grad_scale=grad_scale, found_inf=found_inf, differentiable=differentiable
            )
            adagrad(
                lists.select(params, dense), lists.select(grads, dense), lists.select(state_sums, dense),
                lists.select(state_steps, dense), **options,
            )  # fmt: skip
        return
    params, grads, state_sums = lists.views_as_real(params, grads, state_sums)
    if not differentiable and lists.in_one_kernel(params):
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


def _step_of_sparse(
    param: torch.Tensor,
    grad: torch.Tensor,
    state_sum: torch.Tensor,
    state_step: torch.Tensor,
    *,
    lr: Rate,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Only rows with a gradient move, and their sums."""
    if weight_decay != 0:
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    state_step += 1
    grad = (-grad if maximize else grad).coalesce()
    values = grad._values()
    if values.numel() == 0:
        return
    sums, rows = lists.rows_of(state_sum, grad._indices())
    total = sums.index_select(0, rows).add_(values.square())
    sums.index_copy_(0, rows, total)
    whole, _ = lists.rows_of(param, grad._indices())
    rate = number(lr) / (1 + (state_step.item() - 1) * lr_decay)
    whole.index_add_(0, rows, values / total.sqrt_().add_(eps), alpha=-rate)
