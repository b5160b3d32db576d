"""The kind of device that a program brings along: its module, and the methods that are called after it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from . import methods, registry
from .accelerator import Accelerator


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
