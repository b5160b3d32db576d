"""What is replaced while a program is traced: functions whose calls are recorded, and methods of Module.

Note [Everything is put back]
A patcher remembers what stood where and puts it back in the opposite order, whatever happens in between.
"""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ._compatibility import compatibility
from .node import map_aggregate

_F = TypeVar("_F", bound="str | Callable[..., Any]")

# Names that programs wrapped: globals of a module, by their id, and a name in them.
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
# Methods that programs wrapped: a class and a name.
_wrapped_methods_to_patch: list[tuple[type, str]] = []

_ABSENT = object()


@compatibility(is_backward_compatible=True)
def wrap(fn_or_name: _F) -> _F:
    """Makes a function of a module a leaf: a call with a proxy is recorded, not run. Called at the module's top
    with the function or its name, or as its decorator."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


def find_proxy(*values: Any) -> Any:
    """A proxy among values and what they hold, or None."""
    from .proxy import Proxy

    found: list[Proxy] = []

    def note(value: Any) -> Any:
        if isinstance(value, Proxy):
            found.append(value)
        return value

    map_aggregate(values, note)
    return found[0] if found else None


def _create_wrapped_func(orig_fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(orig_fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        if (proxy := find_proxy(args, kwargs)) is None:
            return orig_fn(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return recorded


def _create_wrapped_method(cls: type, name: str) -> Callable[..., Any]:
    plain = getattr(cls, name)

    @functools.wraps(plain)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        if (proxy := find_proxy(args, kwargs)) is None:
            return plain(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return recorded


class _Patcher:
    """Note [Everything is put back]."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self.visited: set[int] = set()

    def patch(
        self, frame_dict: dict[str, Any], name: str, new_fn: Callable[..., Any], deduplicate: bool = True
    ) -> None:
        """Replaces a name of a dict."""
        new_fn.__fx_already_patched = deduplicate  # type: ignore[attr-defined]
        before = frame_dict.get(name, _ABSENT)
        if getattr(before, "__fx_already_patched", False):
            return
        frame_dict[name] = new_fn

        def undo() -> None:
            if before is _ABSENT:
                del frame_dict[name]
            else:
                frame_dict[name] = before

        self._undo.append(undo)

    def patch_method(
        self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True
    ) -> None:
        """Replaces a method of a class."""
        new_fn.__fx_already_patched = deduplicate  # type: ignore[attr-defined]
        own = vars(cls).get(name, _ABSENT)
        if getattr(own if own is not _ABSENT else getattr(cls, name), "__fx_already_patched", False):
            return
        setattr(cls, name, new_fn)
        self._undo.append(lambda: delattr(cls, name) if own is _ABSENT else setattr(cls, name, own))

    def visit_once(self, thing: Any) -> bool:
        """True the first time."""
        known = id(thing) in self.visited
        self.visited.add(id(thing))
        return not known

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *exception: object) -> None:
        self.revert_all_patches()

    def revert_all_patches(self) -> None:
        """Puts everything back."""
        while self._undo:
            self._undo.pop()()
        self.visited.clear()


def _new_patcher() -> _Patcher:
    return _Patcher()


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    for (_, name), frame_dict in list(_wrapped_fns_to_patch.items()):
        plain = frame_dict[name] if name in frame_dict else getattr(builtins, name)
        patcher.patch(frame_dict, name, _create_wrapped_func(plain))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Replaces functions to be recorded wherever a module has them under a name of its own."""
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, _create_wrapped_func(value))
