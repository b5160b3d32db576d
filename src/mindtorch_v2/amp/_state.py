"""This thread's autocast, as functions of ``torch``."""

from __future__ import annotations

import threading
from typing import Any

from .. import _C
from .._devices import registry

__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]

autocast_increment_nesting = _C.autocast_increment_nesting
autocast_decrement_nesting = _C.autocast_decrement_nesting
clear_autocast_cache = _C.clear_autocast_cache
is_autocast_cache_enabled = _C.is_autocast_cache_enabled
set_autocast_cache_enabled = _C.set_autocast_cache_enabled


def _accelerator() -> str:
    """What functions that name no device mean: PyTorch's are about its GPU."""
    return registry.accelerator().type


# Devices of PyTorch's that may not be here, and the lower precision that it has for them.
_ABSENT = {
    "cuda": _C.float16, "xpu": _C.float16, "mps": _C.float16, "mtia": _C.float16, "hpu": _C.bfloat16,
    "xla": _C.bfloat16,
}  # fmt: skip


class _OfAbsent(threading.local):
    """What a thread has set for devices that are not here. No operator asks for it."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes = dict(_ABSENT)


_of_absent = _OfAbsent()


def absent(device_type: str) -> str | None:
    """The kind of device, if it is one of PyTorch's that is not here."""
    kind = device_type.partition(":")[0]
    return kind if kind in _ABSENT and kind not in registry.accelerators else None


def no_gpu(device_type: str) -> bool:
    """Whether PyTorch's name of a GPU was given where there is none."""
    found = registry.accelerators.get("cuda")
    return device_type == "cuda" and (found is None or not found.module.is_available())


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on for a device in this thread; without one, for the accelerator."""
    device_type = _accelerator() if device_type is None else device_type
    if kind := absent(device_type):
        return _of_absent.enabled.get(kind, False)
    return bool(_C._is_autocast_enabled(device_type))


def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
    """``set_autocast_enabled(device_type, enabled)``; with ``enabled`` alone, for the accelerator."""
    values = [*args, *kwargs.values()]
    if len(values) == 1:
        values = [_accelerator(), *values]
    if len(values) == 2 and isinstance(values[0], str) and (kind := absent(values[0])):
        _of_absent.enabled[kind] = bool(values[1])
    else:
        _C._set_autocast_enabled(*values)


def get_autocast_dtype(device_type: str) -> Any:
    """The lower precision of a device."""
    if kind := absent(device_type):
        return _of_absent.dtypes[kind]
    return _C._get_autocast_dtype(device_type)


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    if kind := absent(device_type):
        _of_absent.dtypes[kind] = dtype
    else:
        _C._set_autocast_dtype(device_type, dtype)


def is_autocast_cpu_enabled() -> bool:
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> Any:
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> Any:
    return get_autocast_dtype(_accelerator())


def set_autocast_gpu_dtype(dtype: Any) -> None:
    set_autocast_dtype(_accelerator(), dtype)
