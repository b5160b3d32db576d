"""The warning that typed storages go away.

Note [Typed storages warn]
Whoever uses a typed storage is told so once. Methods of the public surface warn; they call each other freely, because
only the outermost call does. What the library itself uses is quiet: those methods have a second name with an underscore
(``_size`` for ``size``).
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any

from .warning import frames_inside


class _Warning(threading.local):
    inside = False


_state = _Warning()
_always_warn = False
_warned = False


def _get_always_warn_typed_storage_removal() -> bool:
    return _always_warn


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    """Whether every use of a typed storage warns, and not only the first."""
    global _always_warn
    if not isinstance(always_warn, bool):
        raise AssertionError(f"expected bool, got {type(always_warn)}")
    _always_warn = always_warn


def _reset_warn_typed_storage_removal() -> None:
    """The next use of a typed storage warns again."""
    global _warned
    _warned = False


def _warn_typed_storage_removal() -> None:
    global _warned
    if _warned and not _always_warn:
        return
    _warned = True
    warnings.warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly.  To access UntypedStorage "
        "directly, use tensor.untyped_storage() instead of tensor.storage()",
        UserWarning,
        stacklevel=1 + frames_inside(),
    )


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without warnings of what it calls."""

    @functools.wraps(function)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        before, _state.inside = _state.inside, True
        try:
            return function(*args, **kwargs)
        finally:
            _state.inside = before

    return quiet


def warns(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the public surface."""
    quiet = quietly(function)

    @functools.wraps(function)
    def warning(*args: Any, **kwargs: Any) -> Any:
        if not _state.inside:
            _warn_typed_storage_removal()
        return quiet(*args, **kwargs)

    return warning
