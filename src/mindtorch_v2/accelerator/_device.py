"""Which accelerator is meant."""

from __future__ import annotations

from typing import Any

from .. import _C, npu


def require() -> None:
    if not npu.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def index_of(device: Any = None) -> int:
    """The index of an accelerator given as None (the current one), a number, a name or a torch.device."""
    require()
    if device is not None and not isinstance(device, int):
        device = _C.device(device)
        if device.type != "npu":
            raise ValueError(f"{device.type} doesn't match the current accelerator npu.")
    return npu._get_device_index(device, optional=True)
