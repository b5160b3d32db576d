"""Methods of Tensor that hand its memory to others: numpy, DLPack, copies that are pinned."""

from __future__ import annotations

from typing import Any

from .. import _C
from .._C import Tensor
from .._creation import from_numpy
from .._devices import methods, registry
from ._method import method


def _called_after(kind: str) -> dict[str, Any]:
    """``tensor.is_<kind>`` and ``tensor.<kind>()``."""

    def moved(
        self: Tensor, device: Any = None, non_blocking: bool = False, *, memory_format: Any = None
    ) -> Tensor:
        target = methods.target_of(kind, device)
        return self.to(target, non_blocking=non_blocking, memory_format=memory_format)

    return {f"is_{kind}": property(lambda self: self.device.type == kind), kind: moved}


methods.made_for_each_type("tensor", Tensor, _called_after)


class _Memory:
    """What numpy asks an object for to share its memory; keeps the tensor alive."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.__array_struct__ = _C._array_struct(tensor)


@method
def numpy(self: Tensor, *, force: bool = False) -> Any:
    """A numpy array over the same memory; with force=True a detached copy on the host if it must be one."""
    import numpy as np

    source = self
    if force:
        source = self.detach().cpu()
    elif self.requires_grad and _C.is_grad_enabled():
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
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
    if stream is not None and not isinstance(stream, int):
        raise TypeError("stream must be ``int`` or ``none``")
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
    parts = _C._sparse.parts(self)
    return (self if parts is None else parts[3])._storage_handle().is_pinned()
