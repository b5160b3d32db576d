"""Softmax, and samples of the classes that it weighs."""

from __future__ import annotations

import warnings

import mindtorch_v2 as torch

__all__ = ["gumbel_softmax", "log_softmax", "softmax", "softmin"]


def _implicit_dimension(name: str, ndim: int, stacklevel: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as "
        "an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(
    input: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> torch.Tensor:
    if dim is None:
        dim = _implicit_dimension("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def log_softmax(
    input: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> torch.Tensor:
    if dim is None:
        dim = _implicit_dimension("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def softmin(
    input: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> torch.Tensor:
    if dim is None:
        dim = _implicit_dimension("softmin", input.dim(), _stacklevel)
    return softmax(-input, dim, dtype=dtype)


def gumbel_softmax(
    logits: torch.Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> torch.Tensor:
    """A sample of the classes, soft or (with the soft one's gradient) one-hot."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    exponential = torch.empty_like(logits, memory_format=torch.legacy_contiguous_format).exponential_()
    soft = softmax((logits - exponential.log()) / tau, dim)
    if not hard:
        return soft
    classes = soft.max(dim, keepdim=True)[1]
    shape = [1] * soft.dim()
    shape[dim] = -1
    positions = torch.arange(soft.shape[dim], device=soft.device).reshape(shape)
    chosen = (positions == classes).to(soft.dtype)
    return chosen - soft.detach() + soft
