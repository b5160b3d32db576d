"""``__torch_function__``: how subclasses of Tensor, and other types, take part in operators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from . import _C
from ._C import Tensor

__all__ = [
    "DisableTorchFunctionSubclass",
    "get_default_nowrap_functions",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
]


class DisableTorchFunctionSubclass:
    """Inside, subclasses are treated as plain tensors."""

    def __init__(self) -> None:
        self._previous: list[bool] = []

    def __enter__(self) -> None:
        self._previous.append(_C._set_overrides_enabled(False))

    def __exit__(self, *exception: object) -> None:
        _C._set_overrides_enabled(self._previous.pop())


@functools.cache
def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results the default implementation leaves as they are."""
    return {
        getattr(Tensor, name)
        for name in ("_base", "grad", "_grad")
        if getattr(Tensor, name, None) is not None
    }


def _converted(value: Any, cls: type[Tensor]) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, cls):
        return value.as_subclass(cls)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_converted(v, cls) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_converted(v, cls) for v in value)
    return value


def _default_torch_function(
    cls: type[Tensor],
    func: Callable[..., Any],
    types: Iterable[type],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Runs the operator on plain tensors; what comes out becomes a ``cls``."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        made = func(*args, **(kwargs or {}))
    return made if func in get_default_nowrap_functions() else _converted(made, cls)


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments has a __torch_function__ that is to be asked."""
    return any(_C._wants_override(a) for a in relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Asks the arguments that want to be asked, subclasses first, for the result of ``public_api``."""
    asked: list[Any] = []
    for arg in relevant_args:
        if not _C._wants_override(arg) or any(type(arg) is type(other) for other in asked):
            continue
        at = next((i for i, other in enumerate(asked) if issubclass(type(arg), type(other))), len(asked))
        asked.insert(at, arg)
    types = tuple(type(a) for a in asked)
    for arg in asked:
        result = type(arg).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: {list(types)}"
    )


def is_tensor_like(inp: Any) -> bool:
    """Whether ``inp`` is a Tensor or has a __torch_function__."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


setattr(Tensor, "__torch_function__", classmethod(_default_torch_function))  # noqa: B010 - it becomes a method
