"""torch.Size: the shape of a tensor."""

from __future__ import annotations

from math import prod
from typing import Any, SupportsIndex, overload

from . import _C


class Size(tuple[int, ...]):
    """A tuple of ints that stays a Size when sliced or added to."""

    __slots__ = ()

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

    def __mul__(self, count: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, count))

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __reduce__(self) -> tuple[type, tuple[tuple[int, ...]]]:
        return (Size, (tuple(self),))


Size.__module__ = "mindtorch_v2"  # where people and files know it
_C._set_size_type(Size)
