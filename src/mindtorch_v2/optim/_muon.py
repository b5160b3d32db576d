"""Muon: momentum of matrices, made orthogonal."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from . import _lists as lists
from ._list_optimizer import ListOptimizer, step_of, zeros
from ._lists import Tensors
from ._options import DECOUPLED, Rate, declared, option, should_be

EPS = 1e-7
DEFAULT_A, DEFAULT_B, DEFAULT_C = 3.4445, -4.7750, 2.0315
DEFAULT_NS_STEPS = 5


def _known_adjustment(name: str, value: Any) -> None:
    if value not in (None, "original", "match_rms_adamw"):
        raise ValueError(f"Adjust learning rate function {value} is not supported")


@declared()
class Muon(ListOptimizer):
    """For weight matrices of hidden layers; other parameters need another optimizer."""

    lr: Rate = option(default=1e-3, check=should_be("Learning rate", ">=", 0))
    weight_decay: float = option(default=0.1, check=should_be("weight decay", ">=", 0), meaning=DECOUPLED)
    momentum: float = option(default=0.95, check=should_be("momentum", ">=", 0))
    nesterov: bool = option(default=True)
    ns_coefficients: tuple[float, float, float] = option(
        default=(DEFAULT_A, DEFAULT_B, DEFAULT_C), meaning="the polynomial that is iterated"
    )
    eps: float = option(default=EPS)
    ns_steps: int = option(default=DEFAULT_NS_STEPS, meaning="how often it is iterated")
    adjust_lr_fn: str | None = option(
        default=None,
        check=_known_adjustment,
        meaning='how the learning rate depends on the shape: "original" (as None) or "match_rms_adamw"',
    )

    _kept = {"momentum_buffer": zeros("muon_momentum_bufs")}

    def _prepare(self) -> None:
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
        return super()._new_state(param, group)


@step_of(Muon)
def muon(
    params: Tensors,
    grads: Tensors,
    muon_momentum_bufs: Tensors,
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
