"""Process-wide defaults: the dtype and device of tensors made without one."""

from __future__ import annotations

from . import _C
from ._C import device


def set_default_dtype(d: _C.dtype) -> None:
    """Sets the dtype of floating-point results made without one."""
    _C.set_default_dtype(d)


def get_default_device() -> device:
    """The device of tensors made without one."""
    return _C._get_default_device()


def set_default_device(device: _C.device | str | int | None) -> None:
    """Sets the device of tensors made without one; None is the CPU."""
    _C._set_default_device(_C.device("cpu" if device is None else device))
