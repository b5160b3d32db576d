"""Names of PyTorch's that stand for nothing here: programs may import them, and are told why when they use one.

Note [Names that refuse]
Packages import far more of PyTorch than they run: process groups for a trainer on one device, graphs for an exporter
nobody calls. Such names are in ``table.py``, a module of PyTorch's per row. They can be imported, subclassed, asked
``isinstance`` of and written in annotations; calling one, or making an object of its class, raises NotImplementedError
with the reason of its row. Modules that are nowhere else are made from their row by the finder, which stands behind
all others; a module that is here and lacks some names, or does not import all the files of its folder that programs
reach as its attributes, ends with ``__getattr__ = names_of(...)``.
What refuses has ``__refuses__``, so that a file which names it is told to name something that is not here.
A name goes from the table to a file when somebody writes it; the file then wins. Where PyTorch has it in a part of its
native module, the file is elsewhere, and ``WRITTEN`` says where.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = __name__.rpartition(".")[0]


def name_of(module: str, name: str) -> Any:
    """What the table has under a name of a module of the package; AttributeError if it has nothing."""
    inside = module.removeprefix(PACKAGE).removeprefix(".")
    if name.startswith("__"):  # what Python itself asks every module for
        raise AttributeError(f"module 'torch.{inside}' has no attribute '{name}'")
    from .making import find

    return find(inside, name)


def names_of(module: str) -> Callable[[str], Any]:
    """A ``__getattr__`` for a module that is here: what its row of the table has, and submodules not yet imported."""

    def __getattr__(name: str) -> Any:
        return name_of(module, name)

    return __getattr__


class _Loader:
    """Fills a module that has no file."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        from .making import describe
        from .table import WRITTEN

        inside = module.__name__.removeprefix(f"{PACKAGE}.")
        module.__getattr__ = names_of(module.__name__)  # type: ignore[method-assign]
        module.__doc__, names = describe(inside)
        if inside in WRITTEN:
            file = import_module(f"{PACKAGE}.{WRITTEN[inside]}")
            vars(module).update({name: getattr(file, name) for name in file.__all__})
            names = sorted({*names, *file.__all__})
        module.__all__ = names  # type: ignore[attr-defined]


class _Finder:
    """Answers for modules of the table, after all other finders."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(f"{PACKAGE}."):
            return None
        from .making import is_module

        if not is_module(name.removeprefix(f"{PACKAGE}.")):
            return None
        spec = ModuleSpec(name, _Loader(), origin="names that refuse", is_package=True)  # type: ignore[arg-type]
        return spec


def install() -> None:
    """Puts the finder behind the others."""
    sys.meta_path.append(_Finder())
