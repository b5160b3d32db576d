"""Context managers that are decorators too: of functions, and of generators, which are inside only while they run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from types import CodeType
from typing import Any, Self


def around_generator(context: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """A generator function whose generators are in the context while they run, and not while their caller does."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        try:
            with context():
                value = generator.send(None)
            while True:
                try:
                    request = yield value
                except GeneratorExit:
                    with context():
                        generator.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - it goes where the caller threw it
                    with context():
                        value = generator.throw(error)
                else:
                    with context():
                        value = generator.send(request)
        except StopIteration as stop:
            return stop.value

    return wrapped


def is_generator_function(function: Any) -> bool:
    """As inspect says, which takes a tenth of the time that the whole package takes to load."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return isinstance(code, CodeType) and bool(code.co_flags & 0x20)  # CO_GENERATOR


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run inside a context. ``ctx`` is a context manager, or a function that makes one per call."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise ValueError(f"got {ctx!r}, which is a context manager and makes them; pass one or the other")
    if isinstance(func, type):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should "
            f"have the context manager applied; additionally, decorating a class would prevent {func.__name__} "
            "from being subclassed. Decorate the methods that need it."
        )
    make = ctx if callable(ctx) else lambda: ctx
    if is_generator_function(func):
        return around_generator(make, func)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return wrapped


class _DecoratorContextManager:
    """A base of context managers that may stand above a function, which then runs in a fresh one each time."""

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __enter__")

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __exit__")

    def clone(self) -> Self:
        """Another one like this; a class that takes arguments overrides it."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that may stand above a function without parentheses."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)
