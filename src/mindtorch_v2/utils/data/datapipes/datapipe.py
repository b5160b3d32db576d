"""The base classes of steps, and how a step becomes a method of all others."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from ...._absent import names_of
from ..dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


class _Steps:
    """What both kinds have: registered steps as methods."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, attribute_name: str) -> Any:
        functions = type(self).functions
        if attribute_name in functions:
            return functools.partial(functions[attribute_name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}'")

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Makes a function of a step a method of every step."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False
    ) -> None:
        """Makes a class of steps a method of every step: ``step.name(...)`` is ``Class(step, ...)``."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")

        def make(source: Any, *args: Any, **options: Any) -> Any:
            return cls_to_register(source, *args, **options)

        make.__name__, make.__doc__ = function_name, cls_to_register.__doc__
        cls.functions[function_name] = make

    def __repr__(self) -> str:
        return type(self).__qualname__


class IterDataPipe(_Steps, IterableDataset[_T_co]):
    """A step that gives samples one after the other: ``__iter__``."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")

    def reset(self) -> None:
        """Called for a step that starts over; nothing is kept by default."""


class DFIterDataPipe(IterDataPipe[Any]):
    """A step that gives tables."""


class MapDataPipe(_Steps, Dataset[_T_co]):
    """A step that gives samples by their key: ``__getitem__``."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class DataChunk(list[Any]):
    """A batch of samples."""

    def __init__(self, items: Any) -> None:
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The samples in a line."""
        return indent + "[" + ", ".join(str(item) for item in self) + "]"

    def raw_iterator(self) -> Iterator[Any]:
        """The samples."""
        return iter(self.items)


__getattr__ = names_of(__name__)
