"""``torch.ops``: operators by the names of their schemas — ``aten`` is the library's own, others are registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from . import _C, overrides
from ._absent import name_of


class Operator:
    """One operator. An overload (``.default``, ``.Tensor``) is the same callable: the arguments decide."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        self.__name__, self.__module__ = name, "torch.ops.aten"  # where generated code finds it
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if overrides.somebody_listens() and overrides.has_torch_function((*args, *kwargs.values())):
            return overrides.handle_torch_function(self, (*args, *kwargs.values()), *args, **kwargs)
        return self._function(*args, **kwargs)

    def __getattr__(self, overload: str) -> Operator:
        if overload.startswith("__"):
            raise AttributeError(overload)
        return self

    def __repr__(self) -> str:
        return f"<Operator(op='aten.{self._name}')>"


def _find_native(name: str) -> Operator | None:
    """An operator of the table. Those of a module carry its name as a prefix."""
    for module in ("functions", "nn", "linalg", "fft", "special"):
        functions = getattr(_C, f"_{module}", None)
        prefix = f"{module}_"
        found = getattr(functions, name, None)
        if found is None and name.startswith(prefix):
            found = getattr(functions, name.removeprefix(prefix), None)
        if found is not None:
            return Operator(name, found)
    method = getattr(_C.Tensor, name, None)  # schemas whose first argument is self have a method, at least
    if callable(method) and not name.startswith("__"):
        return Operator(name, method)
    return None


class _Namespace:
    """Finds operators when they are first asked for."""

    def __init__(self, name: str) -> None:
        self._namespace = name

    def __getattr__(self, name: str) -> Any:
        operator: Any = _find_native(name) if self._namespace == "aten" else self._registered(name)
        if operator is None:
            try:
                operator = Operator(name, name_of(f"{__name__}.{self._namespace}", name))
            except AttributeError:
                message = f"'_OpNamespace' '{self._namespace}' object has no attribute '{name}'"
                raise AttributeError(message) from None
        setattr(self, name, operator)
        return operator

    def _registered(self, name: str) -> Any:
        from ._library import custom_ops

        return custom_ops.found(f"{self._namespace}::{name}")


aten = _Namespace("aten")


def load_library(path: str) -> NoReturn:
    """Raises: a library with PyTorch's operators is compiled against PyTorch."""
    raise NotImplementedError(
        f"torch.ops.load_library({path!r}): it is compiled against PyTorch's C++ library, which is not here; register "
        "operators from Python (from torch import library)"
    )


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):
        raise AttributeError(name)
    namespace = globals()[name] = _Namespace(name)
    return namespace
