"""Containers with every element replaced, of the same type where the type allows it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any


def like_mapping(original: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    try:
        if isinstance(original, MutableMapping):
            clone = copy.copy(original)  # it may have more to it than its items
            clone.update(values)
            return clone
        return type(original)(values)  # type: ignore[call-arg]
    except TypeError:  # the type cannot be copied, updated or made of a dict
        return values


def like_sequence(original: Sequence[Any], values: list[Any]) -> Any:
    try:
        if isinstance(original, MutableSequence):
            clone: Any = copy.copy(original)
            for position, value in enumerate(values):
                clone[position] = value
            return clone
        return type(original)(values)  # type: ignore[call-arg]
    except TypeError:  # such as a range
        return values


def is_named_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")
