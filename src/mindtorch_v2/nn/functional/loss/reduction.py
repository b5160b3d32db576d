"""What the losses share: `reduction=`, and names of dtypes in messages."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from ..._reduction import get_enum, legacy_get_string

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor


reduction_number = get_enum


def reduce_values(values: Tensor, reduction: str) -> Tensor:
    reduction_number(reduction)
    if reduction == "mean":
        return values.mean()
    return values.sum() if reduction == "sum" else values


def reduction_name(
    size_average: bool | None, reduce: bool | None, reduction: str, stacklevel: int = 3
) -> str:
    """``reduction``, or what the two arguments that came before it ask for."""
    if size_average is None and reduce is None:
        return reduction
    name = legacy_get_string(size_average, reduce, emit_warning=False)
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.",
        stacklevel=stacklevel,
    )
    return name


def type_title(tensor: Tensor) -> str:
    """A tensor's dtype as messages name it: ``Float``."""
    return tensor.type().rpartition(".")[2].removesuffix("Tensor")
