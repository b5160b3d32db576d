"""The kind of device that a program brings along: its name, its module, and the methods that are called after it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from .. import _C
from . import methods, registry
from .accelerator import Accelerator

# Names that ``torch.device`` gives other devices.
_TAKEN = frozenset("cpu cuda hip hpu meta mps mtia xla xpu".split())


def rename(backend_name: str) -> None:
    """Gives it another name, once."""
    if not isinstance(backend_name, str):
        raise RuntimeError(
            f"_rename_privateuse1_backend expects a str, but got {type(backend_name).__name__}"
        )
    backend_name = backend_name.lower()
    if backend_name == registry.private_use:
        return
    if registry.private_use != registry.PRIVATE_USE:
        raise RuntimeError(
            f"torch.register_privateuse1_backend() has already been set! Current backend: {registry.private_use}"
        )
    if backend_name in _TAKEN or backend_name in registry.accelerators:
        raise RuntimeError(f"Cannot register privateuse1 backend with in-tree device name: {backend_name}")
    found = registry.accelerators.pop(registry.private_use, None)
    registry.private_use = backend_name
    if found is not None:
        registry.register_accelerator(found.renamed(backend_name), with_methods=False)


def _register_device_module(device_type: Any, module: ModuleType) -> None:
    """Makes a module ``torch.<type>``. That of the device which a program brings along makes it an accelerator."""
    kind = registry.type_of(device_type)
    package: Any = sys.modules[__name__.partition(".")[0]]
    if hasattr(package, kind):
        raise RuntimeError(
            f"The runtime module of '{kind}' has already been registered with '{getattr(package, kind)}'"
        )
    setattr(package, kind, module)
    sys.modules[f"{package.__name__}.{kind}"] = module
    if kind == registry.private_use:
        registry.register_accelerator(Accelerator(kind, module), with_methods=False)
    else:
        registry.register_modules([kind], lambda kind: module)


def generate_methods(groups: list[str], unsupported_dtype: Iterable[Any]) -> None:
    """Classes get the methods and properties that are called after the device."""
    methods.check_absent(registry.private_use, groups)
    methods.unsupported_dtypes[registry.private_use] = set(unsupported_dtype)
    methods.add(registry.private_use, groups)


# PyTorch's places for the two.
_C._get_privateuse1_backend_name = lambda: registry.private_use
_C._rename_privateuse1_backend = rename
