"""no_grad, enable_grad and set_grad_enabled: context managers and decorators."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _C
from ..utils._contextlib import around_generator, is_generator_function

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]

_F = TypeVar("_F", bound=Callable[..., Any])


def _warn_of_class(decorated: Any) -> None:
    if isinstance(decorated, type):
        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
            "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
            "the `__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )


class _GradMode:
    """Sets the mode on entry and restores it on exit; may be entered again and again."""

    def __init__(self, mode: bool) -> None:
        self._mode = mode
        self._previous: list[bool] = []

    def __enter__(self) -> None:
        self._previous.append(_C.is_grad_enabled())
        _C._set_grad_enabled(self._mode)

    def __exit__(self, *exception: object) -> None:
        _C._set_grad_enabled(self._previous.pop())

    def __call__(self, function: _F) -> _F:
        mode = self._mode
        _warn_of_class(function)
        if is_generator_function(function):
            return around_generator(lambda: _GradMode(mode), function)  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            previous = _C.is_grad_enabled()
            _C._set_grad_enabled(mode)
            try:
                return function(*args, **kwargs)
            finally:
                _C._set_grad_enabled(previous)

        return wrapped  # type: ignore[return-value]


class no_grad(_GradMode):
    """Nothing inside is recorded for backward."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        self = super().__new__(cls)
        if function is None:
            return self
        cls.__init__(self)  # used as a bare decorator: @no_grad
        return self(function)

    def __init__(self) -> None:
        super().__init__(False)


class enable_grad(_GradMode):
    """Records again inside a no_grad block."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        self = super().__new__(cls)
        if function is None:
            return self
        cls.__init__(self)
        return self(function)

    def __init__(self) -> None:
        super().__init__(True)


class set_grad_enabled(_GradMode):
    """Takes effect at once; as a context manager, until its end."""

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self._before = _C.is_grad_enabled()
        _C._set_grad_enabled(mode)

    def __enter__(self) -> None:
        self._previous.append(self._before)
        _C._set_grad_enabled(self._mode)

    def __call__(self, function: _F) -> _F:
        _C._set_grad_enabled(self._before)
        return super().__call__(function)


class inference_mode(_GradMode):
    """no_grad, and what is made inside can never take part in autograd."""

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        self = super().__new__(cls)
        if isinstance(mode, bool):
            return self
        cls.__init__(self)  # used as a bare decorator: @inference_mode
        return self(mode)

    def __init__(self, mode: bool = True) -> None:
        super().__init__(False)
        self.mode = mode
        self._outer: list[bool] = []

    def __enter__(self) -> None:
        self._outer.append(_C._set_inference_mode(self.mode))
        self._previous.append(_C.is_grad_enabled())
        _C._set_grad_enabled(not self.mode)

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        _C._set_inference_mode(self._outer.pop())

    def __call__(self, function: _F) -> _F:
        if is_generator_function(function):
            return around_generator(lambda: inference_mode(self.mode), function)  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with inference_mode(self.mode):
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]


class _Switch:
    """A setting of the thread that takes effect at once; as a context manager, until its end."""

    _get: Callable[[], bool]
    _set: Callable[[bool], None]

    def __init__(self, mode: bool) -> None:
        self.prev = type(self)._get()
        self.mode = mode
        type(self)._set(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        type(self)._set(self.prev)

    def clone(self) -> Any:
        return type(self)(self.mode)


class set_multithreading_enabled(_Switch):
    """Whether a pass may use threads of its own. Passes here run on the thread that asks for them, so that this is
    remembered and changes nothing."""

    _get = staticmethod(_C._is_multithreading_enabled)
    _set = staticmethod(_C._set_multithreading_enabled)


class _force_original_view_tracking(_Switch):
    """Whether histories of views are made again by the operators that made the views. Here they are windows on their
    bases, which have the same gradients, so that this is remembered and changes nothing."""

    _get = staticmethod(_C._is_view_replay_enabled)
    _set = staticmethod(_C._set_view_replay_enabled)
