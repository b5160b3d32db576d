"""Reductions of the elements that a mask keeps."""

from __future__ import annotations

from collections.abc import Callable

import mindtorch_v2 as torch

from ._mask import Dims, converted, dims_of, filled, full_mask, highest, lowest

_Tensor = torch.Tensor


def _wide(dtype: torch.dtype) -> torch.dtype:
    """Sums and products of integers are int64."""
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.int64


def sum(
    input: _Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    kept = filled(converted(input, dtype or _wide(input.dtype)), mask, 0)
    return _over_dims(kept, dim, bool(keepdim), torch.sum)


def prod(
    input: _Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    kept = filled(converted(input, dtype or _wide(input.dtype)), mask, 1)
    for d in sorted(dims_of(input, dim), reverse=True):
        kept = kept.prod(d, keepdim=bool(keepdim))
    return kept


def amax(
    input: _Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    values = converted(input, dtype)
    return _over_dims(filled(values, mask, lowest(values.dtype)), dim, bool(keepdim), torch.amax)


def amin(
    input: _Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    values = converted(input, dtype)
    return _over_dims(filled(values, mask, highest(values.dtype)), dim, bool(keepdim), torch.amin)


def _over_dims(values: _Tensor, dim: Dims, keepdim: bool, reduce: Callable[..., _Tensor]) -> _Tensor:
    dims = dims_of(values, dim)
    if not dims:
        return values.clone()
    return reduce(values, dims, keepdim=keepdim)


def argmax(
    input: _Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    values = converted(input, dtype)
    kept = filled(values, mask, lowest(values.dtype))
    return torch.argmax(kept, dim, keepdim=bool(keepdim)).to(values.dtype)


def argmin(
    input: _Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    values = converted(input, dtype)
    kept = filled(values, mask, highest(values.dtype))
    return torch.argmin(kept, dim, keepdim=bool(keepdim)).to(values.dtype)


def _count(input: _Tensor, dim: Dims, keepdim: bool, mask: _Tensor | None) -> _Tensor:
    """How many elements take part."""
    ones = torch.ones_like(input, dtype=torch.int64)
    return sum(ones, dim, keepdim=keepdim, mask=None if mask is None else full_mask(mask, input))


def mean(
    input: _Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    values = converted(input, dtype)
    if not (values.dtype.is_floating_point or values.dtype.is_complex):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex "
            f"dtype. Got: {values.dtype}"
        )
    total = sum(values, dim, keepdim=keepdim, mask=mask)
    return total / _count(values, dim, bool(keepdim), mask)


def median(
    input: _Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    values = converted(input, dtype)
    if mask is None:
        return torch.median(values, dim, keepdim=keepdim).values
    if values.dtype.is_floating_point:
        return torch.nanmedian(filled(values, mask, float("nan")), dim, keepdim=keepdim).values
    if not bool(full_mask(mask, input).any(dim).all()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    wide = filled(values.to(torch.float64), mask, float("nan"))
    return torch.nanmedian(wide, dim, keepdim=keepdim).values.to(values.dtype)


def norm(
    input: _Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    order = 2.0 if ord is None else ord
    values = converted(input, dtype)
    kept = filled(values, mask, 0 if order >= 0 else float("inf"))
    return torch.linalg.vector_norm(kept, order, dims_of(input, dim), keepdim=bool(keepdim))


def _variance(
    input: _Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    dtype: torch.dtype | None,
    mask: _Tensor | None,
) -> _Tensor:
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 0 if unbiased is False else 1
    inexact = input.dtype.is_floating_point or input.dtype.is_complex
    values = converted(input, dtype or (input.dtype if inexact else torch.get_default_dtype()))
    centre = sum(values, dim, keepdim=True, mask=mask) / _count(values, dim, True, mask)
    distance = values - centre
    squares = (distance.abs() if distance.is_complex() else distance).square()
    freedom = (_count(values, dim, keepdim, mask) - correction).clamp_min(0)
    return (sum(squares, dim, keepdim=keepdim, mask=mask) / freedom).to(values.dtype)


def var(
    input: _Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    return _variance(input, dim, unbiased, correction, bool(keepdim), dtype, mask)


def std(
    input: _Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    return _variance(input, dim, unbiased, correction, bool(keepdim), dtype, mask).sqrt()


def logsumexp(
    input: _Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: _Tensor | None = None,
) -> _Tensor:
    values = converted(input, dtype)
    kept = filled(values, mask, lowest(values.dtype))
    return torch.logsumexp(kept, dims_of(input, dim), keepdim=keepdim).to(values.dtype)
