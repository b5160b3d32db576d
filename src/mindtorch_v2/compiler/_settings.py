"""Settings of compilers: programs write them, nothing reads them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def patch_of(module: str) -> Callable[..., Any]:
    """A module's ``patch``: other settings inside a ``with`` block, or a decorated function."""

    @contextmanager
    def patched(changes: dict[str, Any]) -> Iterator[None]:
        settings = vars(sys.modules[module])
        before = {name: settings[name] for name in changes if name in settings}
        settings.update(changes)
        try:
            yield
        finally:
            for name in changes:
                settings.pop(name, None)
            settings.update(before)

    def patch(arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> Any:
        """``patch("name", value)``, ``patch({"name": value})`` or ``patch(name=value)``."""
        changes = {arg1: arg2} if isinstance(arg1, str) else dict(arg1 or {}, **kwargs)
        return patched(changes)

    return patch
