"""The kinds of device. They register themselves, so that nothing else has to import or name one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from .. import _C
from . import methods
from .accelerator import Accelerator

PRIVATE_USE = "privateuseone"
private_use = PRIVATE_USE  # the type of the device that a program brings along: private_use.py
# Names that ``torch.device`` gives other devices.
_TAKEN = frozenset(("cpu", "cuda", "hip", "hpu", "meta", "mps", "mtia", "xla", "xpu"))
_FIRST_NUMBER = 20  # PyTorch's number of devices that it does not know itself
accelerators: dict[str, Accelerator] = {}  # by type, those of this build first
_loaders: dict[str, Callable[[str], Any]] = {}
_listeners: list[Callable[[Accelerator], None]] = []


def built_in() -> list[str]:
    """The types of the accelerators that this build drives and that may be here: each has a folder, which says whether
    to look for it. Those that native code has registered already come first."""
    registered = _C._accelerator_types()
    found = [name for name, module in _folders().items() if module.may_be_there()]
    return sorted(found, key=lambda name: name not in registered)


def command_lines() -> list[str]:
    """The modules with parts of the command line: those of devices, and those that need none (``COMMAND_LINE`` of a
    device's folder)."""
    of_devices = [found.command_line for found in accelerators.values()]
    others = [getattr(module, "COMMAND_LINE", None) for module in _folders().values()]
    return [name for name in (*of_devices, *others) if name is not None]


def _folders() -> dict[str, Any]:
    package = __name__.rpartition("._devices")[0] + "._backends"
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "_backends")
    names = sorted(name for name in os.listdir(folder) if name[0] != "_")
    return {name: import_module(f"{package}.{name}") for name in names}


def register_accelerator(found: Accelerator, with_methods: bool = True) -> None:
    """A kind of device that this library drives; called at the end of ``torch.<type>``. Tensors, modules and storages
    get the methods that are called after it. One of the same type takes the place of what was there."""
    before = accelerators.get(found.type)
    found.number = _FIRST_NUMBER + len(accelerators) if before is None else before.number
    accelerators[found.type] = found
    _loaders[found.type] = lambda kind: found.module
    if with_methods:
        methods.add(found.type)
    for listener in _listeners:
        listener(found)


def for_each_accelerator(listener: Callable[[Accelerator], None]) -> None:
    """Calls a function for the accelerators that are there, and for each that is registered later."""
    for found in accelerators.values():
        listener(found)
    _listeners.append(listener)


def register_modules(kinds: Iterable[str], load: Callable[[str], Any]) -> None:
    """The kinds of device that have a module, which `load` imports when it is first asked for."""
    _loaders.update(dict.fromkeys(kinds, load))


def accelerator() -> Accelerator:
    """The kind that is meant where nothing says which: the first that there is, else the first."""
    found = iter(accelerators.values())
    first = next(found)
    if len(accelerators) == 1 or first.module.is_available():
        return first
    return next((each for each in found if each.module.is_available()), first)


def outside_pytorch() -> Accelerator:
    """The one that PyTorch's word PrivateUse1 means: what the program brought along, else what there is."""
    return accelerators.get(private_use) or accelerator()


def available() -> Accelerator | None:
    """The kind of accelerator that there is, if there is one."""
    found = accelerator()
    return found if found.module.is_available() else None


def of(tensor: Any) -> Accelerator | None:
    """The kind of device that a tensor, storage or stream is on; None for the CPU and the like."""
    return accelerators.get(tensor.device.type)


def type_of(device: Any) -> str:
    """The type of a device, or of the text that means one."""
    return str(_C.device(device).type)


def rename_private_use(backend_name: str) -> None:
    """Gives the device that a program brings along another name, once."""
    global private_use
    if not isinstance(backend_name, str):
        raise RuntimeError(
            f"_rename_privateuse1_backend expects a str, but got {type(backend_name).__name__}"
        )
    backend_name = backend_name.lower()
    if backend_name == private_use:
        return
    if private_use != PRIVATE_USE:
        raise RuntimeError(
            f"torch.register_privateuse1_backend() has already been set! Current backend: {private_use}"
        )
    if backend_name in _TAKEN or backend_name in accelerators:
        raise RuntimeError(f"Cannot register privateuse1 backend with in-tree device name: {backend_name}")
    found = accelerators.pop(private_use, None)
    private_use = backend_name
    _C._rename_private_device(backend_name)
    if found is not None:
        register_accelerator(found.renamed(backend_name), with_methods=False)


# PyTorch's places for the two.
_C._get_privateuse1_backend_name = lambda: private_use
_C._rename_privateuse1_backend = rename_private_use


def with_index(device: Any) -> Any:
    """The device, where it is an accelerator without a number the current one of its kind."""
    if device.index is None and (found := accelerators.get(device.type)) is not None:
        return _C.device(device.type, found.current_index())
    return device


def get_device_module(device: Any = None) -> Any:
    """The module of a device, ``torch.cpu`` for "cpu". Without an argument that of the accelerator, else the CPU."""
    if device is None:
        found = available()
        kind = "cpu" if found is None else found.type
    else:
        kind = type_of(device)
    if kind not in _loaders:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        )
    return _loaders[kind](kind)
