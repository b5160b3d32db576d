"""torch.Size: the shape of a tensor."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from operator import index
from typing import Any, SupportsIndex, overload

from .. import _C

# Types of sizes that are not numbers; nested tensors put theirs here.
symbolic: set[type] = set()


def from_front(dim: int, ndim: int) -> int:
    """A dimension counted from the front. A tensor without dimensions counts as one with a single one."""
    count = max(ndim, 1)
    if not -count <= dim < count:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})"
        )
    return dim % count


def _dimension(position: int, value: Any) -> Any:
    if type(value) in symbolic:
        return value
    try:
        return index(value)
    except TypeError:
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {position} is '{type(value).__name__}')"
        ) from None


class Size(tuple[int, ...]):
    """A tuple of ints that stays a Size when sliced or added to."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        if isinstance(sizes, Size):
            return tuple.__new__(cls, sizes)
        made = tuple.__new__(cls, sizes)
        if not set(map(type, made)) <= {int}:
            made = tuple.__new__(cls, map(_dimension, range(len(made)), made))
        return made

    def numel(self) -> int:
        """The number of elements a tensor of this size has."""
        return prod(self)

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size((*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, count))

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __reduce__(self) -> tuple[type, tuple[tuple[int, ...]]]:
        return (Size, (tuple(self),))


Size.__module__ = __name__.partition(".")[0]  # where people and files know it
_C._set_size_type(Size)
