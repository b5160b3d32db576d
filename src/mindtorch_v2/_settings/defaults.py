"""Defaults: the dtype and device of tensors made without one."""

from __future__ import annotations

import threading
from typing import Any

from .. import _C
from .._C import device


def set_default_dtype(d: _C.dtype) -> None:
    """Sets the dtype of floating-point results made without one."""
    if not isinstance(d, _C.dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    _C.set_default_dtype(d)


def get_default_device() -> device:
    """The device of tensors made without one."""
    return _C._get_default_device()


def set_default_device(device: _C.device | str | int | None) -> None:
    """Sets the device of tensors that this thread makes without one; None is the CPU."""
    _C._set_default_device(_C.device("cpu" if device is None else device))


class _Outer(threading.local):
    """The devices that were the default before each ``with torch.device(...)`` this thread is inside of."""

    def __init__(self) -> None:
        self.devices: list[device] = []


_outer = _Outer()


def _enter(self: device) -> device:
    """Tensors made inside ``with torch.device("meta"):`` without a device are there."""
    _outer.devices.append(_C._get_default_device())
    _C._set_default_device(self)
    return self


def _exit(self: device, *exception: Any) -> None:
    _C._set_default_device(_outer.devices.pop())


setattr(device, "__enter__", _enter)  # noqa: B010 - they become methods
setattr(device, "__exit__", _exit)  # noqa: B010
