"""Gradients held within bounds."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


@torch.no_grad()
def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors as one vector. ``foreach`` chooses between ways to the same number; here is one."""
    given = _listed(tensors)
    if not given:
        return torch.tensor(0.0)
    device = given[0].device
    norms = [torch.linalg.vector_norm(tensor, float(norm_type)).to(device) for tensor in given]
    total = torch.linalg.vector_norm(torch.stack(norms), float(norm_type))
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot "
            "be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@torch.no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales all gradients by ``max_norm / total_norm`` where that is less than 1."""
    gradients = [parameter.grad for parameter in _listed(parameters) if parameter.grad is not None]
    if not gradients:
        return
    # Always multiplied, so that the host need not wait for the norm.
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(scale.to(gradient.device))


@torch.no_grad()
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales all gradients so that their norm is at most ``max_norm``; returns the norm before."""
    generator = isinstance(parameters, types.GeneratorType)
    given = _listed(parameters)
    if generator and not given:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    gradients = [parameter.grad for parameter in given if parameter.grad is not None]
    total = get_total_norm(gradients, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The name of ``clip_grad_norm_`` before functions that work in place got an underscore."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    result: Any = clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
    return result  # type: ignore[no-any-return]


@torch.no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Holds every element of the gradients between ``-clip_value`` and ``clip_value``."""
    bound = float(clip_value)
    for parameter in _listed(parameters):
        if parameter.grad is not None:
            parameter.grad.clamp_(-bound, bound)
