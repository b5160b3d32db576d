"""``with_modules=True``: calls of modules as events, and the path of the module that an operator ran in."""

from __future__ import annotations

import threading
from typing import Any

from .. import _C

_native = _C._profiler


_watches: list[ModuleWatch] = []  # the newest records
_original: Any = None  # Module.__call__, while it is exchanged


def _recorded_call(module: Any, /, *args: Any, **kwargs: Any) -> Any:
    call, watch = _original, _watches[-1] if _watches else None
    if watch is None:  # the recording ended while this call was on its way
        return type(module).__call__(module, *args, **kwargs)
    outer = getattr(watch.thread, "module", None)
    scope = _native.begin_scope(watch.name(module, outer), True)
    watch.thread.module = module
    try:
        return call(module, *args, **kwargs)
    finally:
        watch.thread.module = outer
        if scope is not None:
            scope.end()


class ModuleWatch:
    """While it is on, every call of a module is an event ``nn.Module: Linear_0``.

    The call of ``Module`` is exchanged for the time of a recording, so that modules pay nothing at other times.
    """

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        # Modules with the one that called them first. An id stays theirs while the module lives.
        self._kept: list[tuple[Any, Any]] = []
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()
        self.thread = threading.local()  # the module that runs in it

    def start(self) -> None:
        global _original
        from ..nn import Module

        if not _watches:
            _original = Module.__call__
            Module.__call__ = _recorded_call  # type: ignore[method-assign, assignment]
        _watches.append(self)

    def stop(self) -> None:
        from ..nn import Module

        _watches.remove(self)
        if not _watches:
            Module.__call__ = _original  # type: ignore[method-assign]

    def name(self, module: Any, outer: Any) -> str:
        with self._lock:
            name = self._names.get(id(module))
            if name is None:
                kind = type(module).__name__
                number = self._counts[kind] = self._counts.get(kind, -1) + 1
                name = self._names[id(module)] = f"nn.Module: {kind}_{number}"
                self._kept.append((module, outer))
            return name

    def paths(self) -> dict[str, str]:
        """Where the modules are, by the names of their events: ``GPT.blocks.0.attention``."""
        found: dict[str, str] = {}
        for module, outer in self._kept:  # the outer one comes first
            path = type(module).__name__
            if outer is not None:
                inside = next((name for name, each in outer.named_modules() if each is module), path)
                path = f"{found[self._names[id(outer)]]}.{inside}"
            found[self._names[id(module)]] = path
        return found
