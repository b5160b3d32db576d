"""Activations."""

from __future__ import annotations

import warnings

import mindtorch_v2 as torch

from ... import _functions

__all__ = ["log_softmax", "relu", "relu_", "sigmoid", "softmax", "softmin", "tanh"]


def relu(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    return input.relu_() if inplace else _functions.relu(input)


def relu_(input: torch.Tensor) -> torch.Tensor:
    return input.relu_()


def sigmoid(input: torch.Tensor) -> torch.Tensor:
    return input.sigmoid()


def tanh(input: torch.Tensor) -> torch.Tensor:
    return input.tanh()


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
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)
