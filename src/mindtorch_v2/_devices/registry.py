"""The modules of devices. They register themselves, so that nothing below them has to import one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from .. import _C

_accelerators: dict[str, Any] = {}
_loaders: dict[str, Callable[[str], ModuleType]] = {}


def register_accelerator(kind: str, module: ModuleType) -> None:
    """The module of a kind of device that this library drives; called at the end of ``torch.<kind>``."""
    _accelerators[kind] = module


def register_modules(kinds: Iterable[str], load: Callable[[str], ModuleType]) -> None:
    """The kinds of device that have a module, which `load` imports when it is first asked for."""
    _loaders.update(dict.fromkeys(kinds, load))


def accelerators() -> dict[str, Any]:
    """The modules of all accelerators, by kind."""
    return _accelerators


def accelerator_type() -> str:
    """The kind of accelerator that is meant where nothing says which, as in ``torch.device(kind)``."""
    return next(iter(_accelerators))


def accelerator() -> Any:
    """The module of that accelerator."""
    return _accelerators[accelerator_type()]


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a device: ``torch.npu`` for "npu:0". Without an argument that of the accelerator, else the CPU."""
    if device is None:
        kind = accelerator_type() if accelerator().is_available() else "cpu"
    else:
        kind = _C.device(device).type
    if kind not in _loaders:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        )
    return _loaders[kind](kind)
