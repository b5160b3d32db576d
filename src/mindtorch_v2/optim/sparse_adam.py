"""SparseAdam: Adam for sparse gradients, whose averages move only where there is a gradient."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from . import _lists as lists
from ._list_optimizer import Kept, ListOptimizer, step_of
from ._lists import Tensors
from ._options import Rate, declared, each_below_one, learning_rate, not_negative, option, switch
from .optimizer import number, zeros_beside

__all__ = ["SparseAdam"]


def _count(param: torch.Tensor, group: dict[str, Any]) -> Any:
    return 0


@declared()
class SparseAdam(ListOptimizer):
    """Adam for sparse gradients. Rows without one stay as they are, and so do their averages."""

    lr: Rate = option(default=1e-3, check=learning_rate)
    betas: tuple[float, float] = option(default=(0.9, 0.999), check=each_below_one, parts=("beta1", "beta2"))
    eps: float = option(default=1e-8, check=not_negative)
    maximize: bool = switch(default=False)

    _takes_sparse = True
    _kept = {
        "step": Kept("state_steps", _count),
        "exp_avg": Kept("exp_avgs", lambda param, group: zeros_beside(param)),
        "exp_avg_sq": Kept("exp_avg_sqs", lambda param, group: zeros_beside(param)),
    }

    def _prepare(self) -> None:
        super()._prepare()
        sparse = [
            [number, place]
            for number, group in enumerate(self.param_groups)
            for place in lists.sparse_places(group["params"])
        ]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )
        complex_ones = [
            [number, place]
            for number, group in enumerate(self.param_groups)
            for place, param in enumerate(group["params"])
            if param.is_complex()
        ]
        if complex_ones:
            raise ValueError(
                f"Complex params at indices {complex_ones}: SparseAdam does not support complex parameters"
            )

    def _update(self, params: Tensors, gradients: Tensors, states: list[Any], group: dict[str, Any]) -> None:
        if len(lists.sparse_places(gradients)) != len(gradients):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        for state in states:
            state["step"] += 1
        super()._update(params, gradients, states, group)


@step_of(SparseAdam)
def sparse_adam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    state_steps: list[int],
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: Rate,
    maximize: bool,
) -> None:
    """One step of SparseAdam over lists; ``state_steps`` are numbers, already counted."""
    for param, grad, exp_avg, exp_avg_sq, step in zip(
        params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True
    ):
        grad = (-grad if maximize else grad).coalesce()
        values = grad._values()
        if values.numel() == 0:
            continue
        averages, rows = lists.rows_of(exp_avg, grad._indices())
        squares, _ = lists.rows_of(exp_avg_sq, grad._indices())
        average = averages.index_select(0, rows)
        average.add_(values - average, alpha=1 - beta1)
        square = squares.index_select(0, rows)
        square.add_(values.square().sub_(square), alpha=1 - beta2)
        averages.index_copy_(0, rows, average)
        squares.index_copy_(0, rows, square)
        rate = number(lr) * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        whole, _ = lists.rows_of(param, grad._indices())
        whole.index_add_(0, rows, average.div_(square.sqrt_().add_(eps)), alpha=-rate)
