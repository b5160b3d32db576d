"""Masks: broadcast to the input, and the values that take the place of what they leave out."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch

from .._types.size import from_front

Dims = int | Sequence[int] | None


def full_mask(mask: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    if mask.dim() > input.dim():
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
        )
    boolean = mask if mask.dtype == torch.bool else mask != 0
    return boolean if boolean.shape == input.shape else boolean.expand(input.shape)


def filled(input: torch.Tensor, mask: torch.Tensor | None, value: float) -> torch.Tensor:
    """The input with `value` where the mask is False; no gradient reaches those places."""
    return input if mask is None else torch.where(full_mask(mask, input), input, value)


def lowest(dtype: torch.dtype) -> float:
    """What every value of the dtype is at least (for complex numbers: the real part, which logsumexp compares)."""
    if dtype.is_floating_point or dtype.is_complex:
        return float("-inf")
    return 0 if dtype == torch.bool else torch.iinfo(dtype).min


def highest(dtype: torch.dtype) -> float:
    """What every value of the dtype is at most."""
    if dtype.is_floating_point:
        return float("inf")
    return 1 if dtype == torch.bool else torch.iinfo(dtype).max


def dims_of(input: torch.Tensor, dim: Dims) -> list[int]:
    """The dimensions meant, counted from the front; none given means all."""
    given = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if not given:
        return list(range(input.dim()))
    dims: list[int] = []
    for d in (from_front(d, input.dim()) for d in given):
        if d in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        dims.append(d)
    return dims


def converted(input: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    return input if dtype is None or dtype == input.dtype else input.to(dtype)
