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


def autocast_to_full_precision(self: Tensor, cuda_enabled: bool, cpu_enabled: bool) -> Tensor:
    """In float32, if it is of a half precision and autocast is on for its device (`cuda_enabled`: an accelerator's)."""
    enabled = cpu_enabled if self.is_cpu else cuda_enabled
    return self.to(torch.float32) if enabled and self.dtype in (torch.float16, torch.bfloat16) else self


def autocast_to_reduced_precision(
    self: Tensor, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: torch.dtype, cpu_dtype: torch.dtype
) -> Tensor:
    """In the precision of autocast on its device, if it is on there and the tensor is one of float32."""
    enabled, dtype = (cpu_enabled, cpu_dtype) if self.is_cpu else (cuda_enabled, cuda_dtype)
    return self.to(dtype) if enabled and self.dtype is torch.float32 else self


def test_warn_in_autograd(self: Tensor) -> Tensor:
    """A copy whose backward warns."""
    from ..autograd import _test_operators

    return _test_operators._test_warn_in_autograd(self)
