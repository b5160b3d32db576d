"""``torch.ops.aten``: the operators by the names of their schemas, wherever else they live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _C


class Operator:
    """One operator. An overload (``.default``, ``.Tensor``) is the same callable: the arguments decide."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, overload: str) -> Operator:
        if overload.startswith("__"):
            raise AttributeError(overload)
        return self

    def __repr__(self) -> str:
        return f"<Operator(op='aten.{self._name}')>"


class _Namespace:
    """Finds operators when they are first asked for. Those of a module carry its name as a prefix."""

    def __getattr__(self, name: str) -> Operator:
        for module in ("functions", "nn", "linalg", "fft", "special"):
            functions = getattr(_C, f"_{module}", None)
            prefix = f"{module}_"
            found = getattr(functions, name, None)
            if found is None and name.startswith(prefix):
                found = getattr(functions, name.removeprefix(prefix), None)
            if found is not None:
                operator = Operator(name, found)
                setattr(self, name, operator)
                return operator
        raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")


aten = _Namespace()
