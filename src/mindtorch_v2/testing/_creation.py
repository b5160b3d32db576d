"""Random tensors for tests."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from .._types.limits import finfo, iinfo


def _range(dtype: Any, low: float | None, high: float | None) -> tuple[Any, Any]:
    """The limits asked for, or PyTorch's, within what the dtype holds."""
    if dtype is torch.bool:
        least, most, defaults = 0, 2, (0, 2)
    elif dtype.is_floating_point or dtype.is_complex:
        limits = finfo(dtype)
        least, most, defaults = limits.min, limits.max, (-9, 9)  # type: ignore[assignment]
    else:
        whole = iinfo(dtype)
        least, most, defaults = whole.min, whole.max + 1, (-9 if dtype.is_signed else 0, 10)
    low, high = (defaults[0] if low is None else low), (defaults[1] if high is None else high)
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < least or low > most:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{least}, {most})"
        )
    low, high = max(low, least), min(high, most)
    if not (dtype.is_floating_point or dtype.is_complex):
        return math.ceil(low), math.ceil(high)
    return low, high


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: Any = None,
    high: Any = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> torch.Tensor:
    """A tensor with random elements from [low, high)."""
    size = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    inexact = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not inexact:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    low, high = _range(dtype, low, high)
    spread = noncontiguous and bool(size) and math.prod(size) > 1
    if spread:  # every second element of a wider one
        size = (*size[:-1], 2 * size[-1])
    if inexact:
        result = torch.empty(size, dtype=dtype, device=device)
        (torch.view_as_real(result) if dtype.is_complex else result).uniform_(low, high)
    else:
        result = torch.randint(low, high, size, dtype=dtype, device=device)
    if spread:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        smallest = finfo(dtype).tiny if inexact else 1
        result[result == 0] = smallest
    return result.requires_grad_() if requires_grad else result
