"""Adafactor: the average of squares of a matrix kept as one row and one column."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from . import _lists as lists
from .optimizer import ParamsT, add_options, counter, make_steps_tensors, number


class Adafactor(lists.ListOptimizer):
    """``d`` limits how large an update may be; ``eps`` are added to squares and to the parameters' scale."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        add_options(self, foreach=None)
        make_steps_tensors(self, "step")

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state = {"step": counter(param, group)}
        if param.dim() > 1:
            rows, columns = list(param.shape), list(param.shape)
            rows[-1], columns[-2] = 1, 1
            state["row_var"] = param.new_zeros(rows)
            state["col_var"] = param.new_zeros(columns)
        else:
            state["variance"] = torch.zeros_like(param, memory_format=torch.preserve_format)
        return state

    def _update(
        self,
        params: lists.Tensors,
        gradients: lists.Tensors,
        states: list[dict[str, Any]],
        group: dict[str, Any],
    ) -> None:
        eps1, eps2 = group["eps"]
        adafactor(
            params,
            gradients,
            [state.get("row_var") for state in states],
            [state.get("col_var") for state in states],
            [state.get("variance") for state in states],
            lists.column(states, "step"),
            foreach=group["foreach"],
            d=group["d"],
            lr=group["lr"],
            beta2_decay=group["beta2_decay"],
            weight_decay=group["weight_decay"],
            eps1=eps1,
            eps2=eps2,
            maximize=group["maximize"],
        )


def adafactor(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    row_vars: list[torch.Tensor | None],
    col_vars: list[torch.Tensor | None],
    variances: list[torch.Tensor | None],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | torch.Tensor,
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
