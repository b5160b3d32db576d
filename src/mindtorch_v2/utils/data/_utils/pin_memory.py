"""Moving a batch to pinned memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .containers import is_named_tuple, like_mapping, like_sequence


def pin_memory(data: Any, device: Any = None) -> Any:
    """The data with every tensor, and whatever else can be pinned, in memory the device reads asynchronously."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return like_mapping(data, {key: pin_memory(sample) for key, sample in data.items()})
    if is_named_tuple(data):
        return type(data)(*[pin_memory(sample) for sample in data])
    if isinstance(data, tuple):
        return type(data)([pin_memory(sample) for sample in data])
    if isinstance(data, Sequence):
        return like_sequence(data, [pin_memory(sample) for sample in data])
    return data
