"""The size of a dimension that differs from sequence to sequence.

Note [Ragged sizes]
The sequences of a nested tensor have different lengths, so that its size has no number there but a name: ``j1``. It is
equal to itself alone; tensors that share their offsets share it, and two tensors may be added if it is the same.
Native code knows tensors with sizes of numbers, which it compares when gradients arrive. It is given a number that no
dimension ever has, ``_FIRST`` and the number of the name.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import mindtorch_v2 as torch
from mindtorch_v2._types.size import symbolic
from mindtorch_v2.utils.weak import WeakTensorKeyDictionary

_FIRST = 1 << 33
_numbers = count(1)
_by_number: WeakValueDictionary[int, NestedInt] = WeakValueDictionary()
_tensor_symint_registry = WeakTensorKeyDictionary()


class NestedInt(torch.SymInt):
    """A ragged size, or a multiple of one (in strides)."""

    def __init__(self, factor: int = 1, of: NestedInt | None = None) -> None:
        self.number: int = next(_numbers) if of is None else of.number
        self.factor = factor
        # What is known of the sequences: their lengths on the host, and places on each device.
        self.known: dict[Any, Any] = {} if of is None else of.known
        if of is None:
            _by_number[self.number] = self

    @property
    def native(self) -> int:
        """Note [Ragged sizes]."""
        return _FIRST + self.number

    @property
    def node(self) -> NestedInt:
        """What PyTorch's sizes keep what they are in."""
        return self

    def is_nested_int(self) -> bool:
        return True

    def nested_int(self) -> int:
        return self.number

    def nested_int_coeff(self) -> int:
        return self.factor

    def __repr__(self) -> str:
        return f"j{self.number}" if self.factor == 1 else f"{self.factor}*j{self.number}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedInt) and (other.number, other.factor) == (self.number, self.factor)

    def __hash__(self) -> int:
        return hash((self.number, self.factor)) if self.factor != 1 else hash(self.number)

    def __mul__(self, other: Any) -> NestedInt:
        if not isinstance(other, int):
            raise ValueError(f"a ragged size is multiplied by a number only, got {other!r}")
        return NestedInt(self.factor * other, self)

    __rmul__ = __mul__

    def __ge__(self, other: Any) -> bool:
        # PyTorch takes it to be at least two, so that nothing is broadcast along it.
        if self == other or (not isinstance(other, NestedInt) and other <= 2):
            return True
        raise ValueError("ge: relation is indeterminate")

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __gt__(self, other: Any) -> bool:
        return self != other and self >= other + 1 if isinstance(other, int) else not self <= other

    def __le__(self, other: Any) -> bool:
        if self == other:
            return True
        if isinstance(other, int):
            return not self >= other + 1
        raise ValueError("ge: relation is indeterminate")

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        raise TypeError(
            f"{self} is the size of a ragged dimension, which is no number: it differs from sequence to sequence. "
            "offsets().diff() has the lengths"
        )


symbolic.add(NestedInt)


def ragged_size(source: torch.Tensor) -> NestedInt:
    """The size that belongs to offsets, or lengths: always the same for the same tensor."""
    found: NestedInt | None = _tensor_symint_registry.get(source)
    if found is None:
        found = _tensor_symint_registry[source] = NestedInt()
    return found


def share_size(source: torch.Tensor, size: NestedInt) -> None:
    """Says that a copy of offsets or lengths stands for the same sequences."""
    _tensor_symint_registry[source] = size


def public_size(sizes: Iterable[int]) -> torch.Size:
    """The size that native code knows as numbers. Note [Ragged sizes]."""
    return torch.Size([_by_number.get(n - _FIRST, n) if n > _FIRST else n for n in sizes])
