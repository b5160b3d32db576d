"""A named piece of the program in the trace."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .. import _C

_native = _C._profiler


class record_function:
    """Shows what runs inside it as one annotation of the trace. Costs next to nothing while nobody records.

    As a context manager, or as a decorator, where every call is an annotation of its own::

        with torch.profiler.record_function("attention"):
            ...
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"record_function(): name must be a str, got {type(name).__name__}")
        self.name = name
        self.args = args
        self._scope: Any = None

    def __enter__(self) -> record_function:
        self._scope = _native.begin_scope(self.name, False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.end()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        import inspect  # slow to load, and few programs come here

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def recorded_coroutine(*args: Any, **kwargs: Any) -> Any:
                with record_function(self.name, self.args):
                    return await function(*args, **kwargs)

            return recorded_coroutine

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return recorded


class RecordFunctionFast(record_function):
    """The form that generated code uses: ``with torch._C._profiler._RecordFunctionFast("name"):``. Values that it is
    given are not recorded; annotations have none."""

    def __init__(self, name: str, input_values: Any = (), keyword_values: Any = None) -> None:
        super().__init__(name)
