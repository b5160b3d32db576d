"""Who needs the memory of tensors on ``meta``: Note [Memory on meta] in csrc/core/meta_memory.h."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy

from .. import _C
from .._C import Tensor


class Purpose(IntEnum):
    """What memory is for; the first is what nobody gave a purpose."""

    TEMPORARY = 0
    PARAMETERS = 1
    GRADIENTS = 2
    OPTIMIZER = 3
    ACTIVATIONS = 4
    COMMUNICATION = 5  # messages, buckets, and parameters that are whole for a while
    INPUTS = 6


@contextmanager
def meant_for(purpose: Purpose) -> Iterator[None]:
    """What is made meanwhile is for this."""
    before = _C._set_meta_purpose(purpose)
    try:
        yield
    finally:
        _C._set_meta_purpose(before)


def making(purpose: Purpose, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, but what it makes is for this."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with meant_for(purpose):
            return function(*args, **kwargs)

    return wrapped


def assign(tensors: Iterable[Any], purpose: Purpose) -> None:
    """These turned out to be for this; those of other devices than ``meta`` are left alone."""
    for each in tensors:
        local = getattr(each, "_local_tensor", each)
        if isinstance(local, Tensor) and local.is_meta:
            _C._assign_meta_purpose(local, purpose)


@contextmanager
def standing_for(device: str, parts: bool = True) -> Iterator[None]:
    """Programs on ``meta`` meanwhile do what they do for this kind of device. With ``parts``, operators that this
    package makes of others there are made of them, too."""
    before = _C._set_meta_stands_for(device, parts)
    try:
        yield
    finally:
        _C._set_meta_stands_for(*before)


@contextmanager
def uncounted() -> Iterator[None]:
    """What this thread makes meanwhile takes nothing."""
    before = _C._set_meta_counted(False)
    try:
        yield
    finally:
        _C._set_meta_counted(before)


@contextmanager
def recording() -> Iterator[None]:
    """Keeps what is made and freed meanwhile, for :func:`history`."""
    _C._record_meta_history(True)
    try:
        yield
    finally:
        _C._record_meta_history(False)


def history() -> Any:
    """Rows of (0: made, 1: freed, 2: its purpose turned out; the storage; bytes; purpose)."""
    return numpy.frombuffer(_C._meta_history(), dtype=numpy.int64).reshape(-1, 4)


@dataclass(frozen=True)
class Highest:
    """The most bytes since :func:`begin`."""

    peak: int
    at_peak: dict[Purpose, int]  # how they were shared out then
    each: dict[Purpose, int]  # the most of each purpose, whenever that was


def highest() -> Highest:
    """What was needed."""
    peak, at_peak, each = _C._meta_memory()
    return Highest(peak, {kind: at_peak[kind] for kind in Purpose}, {kind: each[kind] for kind in Purpose})


begin = _C._reset_meta_peak
