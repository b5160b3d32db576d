"""Which accelerator is meant."""

from __future__ import annotations

from typing import Any

from .._devices import registry


def module() -> Any:
    """The module of the accelerator of this machine."""
    return registry.accelerator().module


def require() -> Any:
    """The module of the accelerator, of which there must be one."""
    found = registry.available()
    if found is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return found.module


def index_of(device: Any = None) -> int:
    """The index of an accelerator given as None (the current one), a number, a name or a torch.device."""
    found = require()
    if device is not None and not isinstance(device, int):
        kind, wanted = registry.type_of(device), registry.accelerator().type
        if kind != wanted:
            raise ValueError(f"{kind} doesn't match the current accelerator {wanted}.")
    return int(found._get_device_index(device, optional=True))
