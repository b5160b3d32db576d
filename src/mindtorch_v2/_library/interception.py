"""Who takes operators over: modes of the thread, then classes of tensors with ``__torch_dispatch__``.

Note [Interception] in csrc/core/intercept.h.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _C
from .._C import Tensor
from . import overloads, seen_as


class _Modes(threading.local):
    def __init__(self) -> None:
        self.stack: list[Any] = []


_modes = _Modes()


def stack() -> list[Any]:
    """The modes that this thread is inside of, the innermost last."""
    return _modes.stack


def push(mode: Any) -> None:
    _modes.stack.append(mode)
    _C._dispatch.set_modes(len(_modes.stack))


def pop() -> Any:
    mode = _modes.stack.pop()
    _C._dispatch.set_modes(len(_modes.stack))
    return mode


@contextmanager
def without(count: int = 1) -> Iterator[list[Any]]:
    """The innermost modes are off; gives them, the outermost first."""
    removed = [pop() for _ in range(min(count, len(_modes.stack)))][::-1]
    try:
        yield removed
    finally:
        for mode in removed:
            push(mode)


def remove(mode: Any) -> None:
    """One mode is over, wherever it stands."""
    _modes.stack.remove(mode)
    _C._dispatch.set_modes(len(_modes.stack))


@contextmanager
def without_mode(mode: Any) -> Iterator[None]:
    """One mode is off; those inside of it stay on."""
    place = _modes.stack.index(mode)
    remove(mode)
    try:
        yield
    finally:
        _modes.stack.insert(place, mode)
        _C._dispatch.set_modes(len(_modes.stack))


def _tensors(values: list[Any]) -> Iterator[Tensor]:
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Tensor):
                yield item


def handling_types(values: list[Any]) -> list[type]:
    """The classes among the arguments that have a __torch_dispatch__, subclasses before their bases."""
    found: list[type] = []
    for tensor in _tensors(values):
        kind = type(tensor)
        if kind is not Tensor and kind not in found and _handles(kind):
            at = next((i for i, other in enumerate(found) if issubclass(kind, other)), len(found))
            found.insert(at, kind)
    return found


def _handles(kind: type) -> bool:
    own = kind.__dict__.get("__torch_dispatch__") or getattr(kind, "__torch_dispatch__", None)
    return own is not None and own is not Tensor.__torch_dispatch__


def handle(name: str, overload: str, values: list[Any]) -> Any:
    """What native code calls instead of an operator's kernel."""
    return seen_as.hand_over(name, overload, values, _ask)


def _ask(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the innermost mode makes of a call, or the classes of its tensors."""
    kinds = handling_types([*args, *kwargs.values()])
    if not kinds and not _modes.stack:  # a part of a row of which other parts are wanted
        return operator(*args, **kwargs)
    if _modes.stack:
        with without() as (mode,):
            result = mode.__torch_dispatch__(operator, tuple(kinds), args, kwargs)
        if result is not NotImplemented:
            return result
    for kind in kinds:
        result = kind.__torch_dispatch__(operator, tuple(kinds), args, kwargs)  # type: ignore[attr-defined]
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"Multiple dispatch failed for '{operator}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
        + "\n".join(f"  - {kind!r}" for kind in [*map(type, _modes.stack[-1:]), *kinds])
    )


def _somebody_takes_over(values: list[Any]) -> bool:
    return not _C._dispatch.is_off() and bool(_modes.stack or handling_types(values))


overloads.takers.append(overloads.Takers(_somebody_takes_over, _ask))
