"""Methods of Tensor that convert: to other devices and dtypes, to and from numpy and DLPack."""

from __future__ import annotations

from typing import Any

from .. import _C
from .._backends.common import convert
from .._C import Tensor
from .._creation import from_numpy
from .._devices import methods, registry
from .._types.dtypes import LEGACY_NAMES
from . import legacy_types
from ._method import method


@method
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor of another dtype or on another device; itself if it already is that."""
    return convert.to(self, *args, **kwargs)


@method
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    return convert.to(self, device="cpu", memory_format=memory_format)


def _called_after(kind: str) -> dict[str, Any]:
    """``tensor.is_<kind>`` and ``tensor.<kind>()``."""

    def moved(
        self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
    ) -> Tensor:
        target = methods.target_of(kind, device)
        return convert.to(self, device=target, non_blocking=non_blocking, memory_format=memory_format)

    return {f"is_{kind}": property(lambda self: self.device.type == kind), kind: moved}


methods.made_for_each_type("tensor", Tensor, _called_after)


@method
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raises as in a PyTorch without CUDA: no such device is driven here."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def _dtype_method(name: str, dtype: _C.dtype) -> None:
    def cast(self: Tensor, memory_format: Any = None) -> Tensor:
        return convert.to(self, dtype, memory_format=memory_format)

    cast.__name__ = name
    cast.__doc__ = f"self.to(torch.{dtype.name})."
    setattr(Tensor, name, cast)


for _name, _dtype in {
    "float": _C.float32, "double": _C.float64, "half": _C.float16, "bfloat16": _C.bfloat16, "int": _C.int32,
    "long": _C.int64, "short": _C.int16, "char": _C.int8, "byte": _C.uint8, "bool": _C.bool,
    "cfloat": _C.complex64, "cdouble": _C.complex128,
}.items():  # fmt: skip
    _dtype_method(_name, _dtype)


@method
def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The legacy type name, or a converted tensor if a dtype or a legacy type is given."""
    if dtype is None:
        place = "" if self.device.type == "cpu" else f"{self.device.type}."
        return f"torch.{place}{LEGACY_NAMES[self.dtype.name]}Tensor"
    kind: Any = legacy_types.find(dtype) if isinstance(dtype, str) else dtype
    if isinstance(kind, legacy_types.OfOneDtype):
        return convert.to(self, dtype=kind.dtype, device=kind.device_type, non_blocking=non_blocking)
    return convert.to(self, dtype=kind, non_blocking=non_blocking)


type.__qualname__ = "Tensor.type"


@method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    return convert.to(self, dtype=other.dtype, device=other.device)


class _Memory:
    """What numpy asks an object for to share its memory; keeps the tensor alive."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.__array_interface__ = _C._array_interface(tensor)


@method
def numpy(self: Tensor, *, force: bool = False) -> Any:
    """A numpy array over the same memory; with force=True a detached copy on the host if it must be one."""
    import numpy as np

    source = self
    if force:
        source = self.detach().cpu()
    elif self.requires_grad:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    if source.numel() == 0:
        return np.empty(tuple(source.shape), dtype=_C._array_interface(source)["typestr"])
    return np.asarray(_Memory(source))


@method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    array = self.numpy()
    if dtype is not None:
        array = array.astype(dtype, copy=False)
    return array.copy() if copy else array


@method
def __array_wrap__(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """What numpy's functions give for tensors: tensors again."""
    return from_numpy(array.astype("uint8") if array.dtype == bool else array)


@method
def __dlpack__(
    self: Tensor,
    *,
    stream: Any = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    if stream not in (None, -1) and self.is_cpu:
        raise AssertionError("stream should be None on cpu.")
    tensor = self.clone() if copy else self
    return _C._to_dlpack(tensor, max_version is not None and max_version[0] >= 1)


_OUTSIDE_DLPACK = 12  # its number of devices that it does not know


@method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    return (1, 0) if registry.of(self) is None else (_OUTSIDE_DLPACK, self.device.index or 0)


@method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in pinned host memory."""
    kind = registry.accelerator() if device is None else registry.accelerators[registry.type_of(device)]
    pinned: Tensor = kind.module.pin_memory(self)
    return pinned


@method
def is_pinned(self: Tensor, device: Any = None) -> bool:
    return self._storage_handle().is_pinned()
