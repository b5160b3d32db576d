"""Operators along a dimension that keep its size, on the elements that a mask keeps."""

from __future__ import annotations

import mindtorch_v2 as torch

from ._mask import converted, filled
from ._reductions import norm

_Tensor = torch.Tensor


def cumsum(
    input: _Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: _Tensor | None = None
) -> _Tensor:
    return torch.cumsum(filled(input, mask, 0), dim, dtype=dtype or input.dtype)


def cumprod(
    input: _Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: _Tensor | None = None
) -> _Tensor:
    return torch.cumprod(filled(input, mask, 1), dim, dtype=dtype or input.dtype)


def softmax(
    input: _Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: _Tensor | None = None
) -> _Tensor:
    return torch.softmax(filled(converted(input, dtype), mask, float("-inf")), dim)


def log_softmax(
    input: _Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: _Tensor | None = None
) -> _Tensor:
    return torch.log_softmax(filled(converted(input, dtype), mask, float("-inf")), dim)


def softmin(
    input: _Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: _Tensor | None = None
) -> _Tensor:
    return torch.softmax(-filled(converted(input, dtype), mask, float("inf")), dim)


def normalize(
    input: _Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    values = converted(input, dtype)
    length = norm(values, ord, dim, keepdim=True, mask=mask)
    return filled(values, mask, 0) / length.clamp_min(eps)


def logaddexp(
    input: _Tensor,
    other: _Tensor,
    *,
    dtype: torch.dtype | None = None,
    input_mask: _Tensor | None = None,
    other_mask: _Tensor | None = None,
) -> _Tensor:
    nothing = float("-inf")
    left = filled(converted(input, dtype), input_mask, nothing)
    right = filled(converted(other, dtype), other_mask, nothing)
    return torch.logaddexp(left, right)
