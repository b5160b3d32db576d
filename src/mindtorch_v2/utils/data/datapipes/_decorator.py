"""Marks of steps: the name of the method that makes one, and what its order depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from .datapipe import IterDataPipe, MapDataPipe

_T = TypeVar("_T")
_determinism_wanted = False


def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable[[Any], Any]:
    """Makes a class of steps a method ``name`` of all steps of its kind."""

    def register(cls: Any) -> Any:
        if not isinstance(cls, type) or not issubclass(cls, (IterDataPipe, MapDataPipe)):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
        kind: Any = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        kind.register_datapipe_as_function(name, cls)
        return cls

    return register


@contextmanager
def guaranteed_datapipes_determinism() -> Iterator[None]:
    """Steps marked with :class:`non_deterministic` are refused inside."""
    global _determinism_wanted
    before, _determinism_wanted = _determinism_wanted, True
    try:
        yield
    finally:
        _determinism_wanted = before


class non_deterministic:
    """Marks a class of steps whose order may differ from run to run: always, or as a function of its arguments says."""

    def __init__(self, arg: Any) -> None:
        self._asked = None if isinstance(arg, type) else arg
        self._cls = arg if isinstance(arg, type) else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._cls is None:  # the decorator was given a function, and now gets the class
            (self._cls,) = args
            return self
        if _determinism_wanted and (self._asked is None or self._asked(*args, **kwargs)):
            raise TypeError(
                f"{self._cls.__name__} is non-deterministic with these arguments, inside "
                "guaranteed_datapipes_determinism(); leave the step out, or the guarantee"
            )
        return self._cls(*args, **kwargs)


def argument_validation(f: _T) -> _T:
    """Marks a step whose argument types PyTorch checks while it runs; returns it."""
    return f


runtime_validation = argument_validation


@contextmanager
def runtime_validation_disabled() -> Iterator[None]:
    """Inside, types are not checked while steps run; they never are."""
    yield
