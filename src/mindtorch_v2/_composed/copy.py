"""Conversions by the name of a type."""

from __future__ import annotations

import builtins
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from .._tensor import legacy_types
from .._types.dtypes import LEGACY_NAMES, dtype_of

_NAMES = {dtype_of(name): f"{legacy}Tensor" for name, legacy in LEGACY_NAMES.items()}


def _asked_for(dtype: Any) -> tuple[Any, str | None]:
    """The dtype, and the type of device if the type names one, of what is given to ``x.type(…)``."""
    if isinstance(dtype, torch.dtype):
        return dtype, None
    if dtype is Tensor:
        return torch.get_default_dtype(), "cpu"
    kind = legacy_types.find(dtype) if isinstance(dtype, str) else dtype
    if isinstance(kind, legacy_types.OfOneDtype):
        return kind.dtype, kind.device_type
    if isinstance(dtype, builtins.type):
        raise ValueError(f"invalid type: '{dtype.__name__}'")
    raise TypeError("dtype must be a type, str, or dtype object")


def type(self: Tensor, dtype: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    """The legacy name of the tensor's type, or a tensor of the given dtype or legacy type."""
    if dtype is None:
        name = _NAMES[self.dtype]
        if self.is_sparse:
            name = f"sparse.{name}"
        elif self.layout is not torch.strided:
            raise RuntimeError(f"Unimplemented backend SparseCsr{self.device.type.upper()}")
        return f"torch.{name}" if self.is_cpu else f"torch.{self.device.type}.{name}"
    wanted, place = _asked_for(dtype)
    device = None if place == self.device.type else place
    return self.to(device, wanted, non_blocking, memory_format=memory_format)
