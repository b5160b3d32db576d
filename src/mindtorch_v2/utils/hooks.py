"""Handles of registered hooks."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import MutableMapping
from typing import Any


class RemovableHandle:
    """Takes one hook out of the table it was registered in; also a context manager that does so at its end.

    The table is held weakly: a handle kept somewhere does not keep the module or optimizer alive. Other
    tables that note something about the hook by its id (that it wants keyword arguments, say) are given as
    ``extra_dict``.
    """

    next_id = 0

    def __init__(self, hooks_dict: MutableMapping[int, Any], *, extra_dict: Any = None) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        tables = [] if extra_dict is None else extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(table) for table in tables)

    def remove(self) -> None:
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = reference()
            if table is not None and self.id in table:
                del table[self.id]

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.hooks_dict_ref(), self.id, tuple(reference() for reference in self.extra_dict_ref))

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id, extra = state
        self.hooks_dict_ref = _reference(hooks)
        self.extra_dict_ref = tuple(_reference(table) for table in extra)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def unserializable_hook(f: Any) -> Any:
    """Marks a hook that its tensor may lose when it is saved."""
    f.__torch_unserializable__ = True
    return f


def _reference(table: Any) -> weakref.ref[Any]:
    # A table that was gone when the handle was pickled comes back as an empty one that is gone at once.
    return weakref.ref(OrderedDict() if table is None else table)


def add_hook(
    hooks: OrderedDict[int, Any], hook: Any, *, extra: Any = None, prepend: bool = False
) -> RemovableHandle:
    """Registers ``hook`` in a table that runs in its order. (A plain dict cannot be referred to weakly.)"""
    handle = RemovableHandle(hooks, extra_dict=extra)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle
