"""Muon: momentum of matrices, made orthogonal."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from .optimizer import ParamsT, zeros_beside

EPS = 1e-7
DEFAULT_A, DEFAULT_B, DEFAULT_C = 3.4445, -4.7750, 2.0315
DEFAULT_NS_STEPS = 5


class Muon(lists.ListOptimizer):
    """For weight matrices of hidden layers; other parameters need another optimizer.

    ``adjust_lr_fn`` is "original" or "match_rms_adamw": how the learning rate depends on the matrix's shape.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (DEFAULT_A, DEFAULT_B, DEFAULT_C),
        eps: float = EPS,
        ns_steps: int = DEFAULT_NS_STEPS,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 <= momentum:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{param.size()}"
                    )

    def _new_state(self, param: torch.Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": zeros_beside(param)}

    def _update(
        self,
        params: lists.Tensors,
        gradients: lists.Tensors,
        states: list[dict[str, Any]],
        group: dict[str, Any],
    ) -> None:
        muon(
            params,
            gradients,
            lists.column(states, "momentum_buffer"),
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            nesterov=group["nesterov"],
            ns_coefficients=group["ns_coefficients"],
            ns_steps=group["ns_steps"],
            eps=group["eps"],
            adjust_lr_fn=group["adjust_lr_fn"],
            has_complex=False,
        )


def muon(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    muon_momentum_bufs: list[torch.Tensor],
    *,
    foreach: bool | None = None,
    lr: Any,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    ns_steps: int,
    eps: float,
    adjust_lr_fn: str | None,
    has_complex: bool,
) -> None:
    """One step of Muon over lists of matrices and their momentum."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    _functions._foreach_lerp_(muon_momentum_bufs, grads, 1 - momentum)
    updates = (
        _functions._foreach_lerp(grads, muon_momentum_bufs, momentum) if nesterov else muon_momentum_bufs
    )
    lists.shrink_(params, lr, weight_decay)
    for param, update in zip(params, updates, strict=True):
        orthogonal = _zeropower_via_newtonschulz(update, ns_coefficients, ns_steps, eps)
        param.add_(orthogonal, alpha=-_adjust_lr(lr, adjust_lr_fn, param.shape))


def _zeropower_via_newtonschulz(
    grad: torch.Tensor, ns_coefficients: tuple[float, float, float], ns_steps: int, eps: float
) -> torch.Tensor:
    """An orthogonal matrix near ``grad``: a polynomial, iterated, takes all singular values towards one."""
    if ns_steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(grad.shape) != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(ns_coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = ns_coefficients
    matrix = grad.bfloat16()
    tall = grad.size(0) > grad.size(1)
    if tall:
        matrix = matrix.T
    matrix = matrix.div(matrix.norm().clamp(min=eps))
    for _ in range(ns_steps):
        gram = matrix @ matrix.T
        gram = torch.addmm(gram, gram, gram, beta=b, alpha=c)
        matrix = torch.addmm(matrix, gram, matrix, beta=a)
    return matrix.T if tall else matrix


def _adjust_lr(lr: Any, adjust_lr_fn: str | None, param_shape: Any) -> Any:
    rows, columns = param_shape[:2]
    if adjust_lr_fn is None or adjust_lr_fn == "original":
        return lr * math.sqrt(max(1, rows / columns))
    return lr * 0.2 * math.sqrt(max(rows, columns))


Muon.__module__ = __package__  # as files name it
