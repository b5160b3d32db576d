"""Tensor.to: which device, dtype and memory format a call asks for, and whether that needs a copy."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._C import Tensor
from ..._devices.registry import accelerators


def _parse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The three spellings: to(dtype, …), to(device, dtype, …), to(other, …)."""
    wanted: dict[str, Any] = {
        "device": None,
        "dtype": None,
        "non_blocking": False,
        "copy": False,
        "memory_format": None,
    }
    names = ["device", "dtype", "non_blocking", "copy"]
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
        wanted["device"], wanted["dtype"] = other.device, other.dtype
        names = ["non_blocking", "copy"]
    elif rest and isinstance(rest[0], _C.dtype):
        names = ["dtype", "non_blocking", "copy"]
    if len(rest) > len(names):
        raise TypeError(f"to() takes at most {len(names)} positional arguments here, got {len(rest)}")
    wanted.update(zip(names, rest, strict=False))
    if "other" in kwargs:
        other = kwargs.pop("other")
        wanted["device"], wanted["dtype"] = other.device, other.dtype
    unknown = set(kwargs) - set(wanted)
    if unknown:
        raise TypeError(f"to() got an unexpected keyword argument '{sorted(unknown)[0]}'")
    wanted.update(kwargs)
    return wanted


def to(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor itself when it already is what is asked for, otherwise a converted copy."""
    wanted = _parse(args, kwargs)
    device = tensor.device if wanted["device"] is None else _C.device(wanted["device"])
    if device.type in accelerators and device.index is None:
        device = _C.device(device.type, accelerators[device.type].current_index())
    dtype = tensor.dtype if wanted["dtype"] is None else wanted["dtype"]
    same_device = device.type == tensor.device.type and device.index in (None, tensor.device.index)
    memory_format = wanted["memory_format"]
    if (
        same_device
        and dtype is tensor.dtype
        and not wanted["copy"]
        and (
            memory_format is None
            or int(memory_format) == 1
            or tensor.is_contiguous(memory_format=memory_format)
        )
    ):
        return tensor
    if same_device:
        device = tensor.device
    return _C._functions._to_copy(
        tensor, dtype=dtype, device=device, non_blocking=wanted["non_blocking"], memory_format=memory_format
    )
