"""``torch.ops``: operators by the names of their schemas — ``aten`` is the library's own; others are registered by
programs, or those of packages whose operators the table has."""

from __future__ import annotations

import os
from typing import Any

from ._absent import name_of
from ._library.overloads import OpOverloadPacket, packet
from ._library.table_operators import has_operators_of


class _Namespace:
    """Finds operators when they are first asked for."""

    def __init__(self, name: str) -> None:
        self._namespace = name

    def __getattr__(self, name: str) -> Any:
        operator: Any = packet(f"aten::{name}") if self._namespace == "aten" else self._registered(name)
        if operator is None:
            try:
                operator = OpOverloadPacket(
                    f"{self._namespace}::{name}", name_of(f"{__name__}.{self._namespace}", name)
                )
            except AttributeError:
                message = f"'_OpNamespace' '{self._namespace}' object has no attribute '{name}'"
                raise AttributeError(message) from None
        setattr(self, name, operator)
        return operator

    def _registered(self, name: str) -> Any:
        if self._namespace == "profiler":
            from ._library.profiler_operators import OPERATORS

            return OPERATORS.get(name)
        from ._library import custom_ops

        return custom_ops.found(f"{self._namespace}::{name}")


aten = _Namespace("aten")


loaded_libraries: set[str] = set()


def load_library(path: str | os.PathLike[str]) -> None:
    """Makes the operators of a compiled library known, where the table has them; raises for any other.
    Note [Compiled parts of other packages]"""
    if not has_operators_of(path):
        raise OSError(
            f"Could not load this library: {path}. It is compiled against PyTorch's C++ library, which is not here; "
            "register operators from Python (from torch import library)."
        )
    loaded_libraries.add(os.fspath(path))


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):
        raise AttributeError(name)
    namespace = globals()[name] = _Namespace(name)
    return namespace
