"""Products that are contractions of chosen dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from .._functions.contractions import Contraction, Label, contraction
from .._types.size import from_front

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor


def tensordot(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    return _planned(self.shape, other.shape, tuple(dims_self), tuple(dims_other))(self, other)


@lru_cache(maxsize=512)
def _planned(
    of_self: tuple[int, ...],
    of_other: tuple[int, ...],
    dims_self: tuple[int, ...],
    dims_other: tuple[int, ...],
) -> Contraction:
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    left: list[Label] = [f"a{i}" for i in range(len(of_self))]
    right: list[Label] = [f"b{i}" for i in range(len(of_other))]
    for place, (i, j) in enumerate(zip(dims_self, dims_other, strict=True)):
        if not left or not right:
            raise IndexError(f"Dimension specified as {j if left else i} but tensor has no dimensions")
        first, second = from_front(i, len(left)), from_front(j, len(right))
        if of_self[first] != of_other[second] and of_self[first] != 1 and of_other[second] != 1:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {of_self[first]} in dim {i} and second "
                f"has size {of_other[second]} in dim {j}"
            )
        for labels, d in ((left, first), (right, second)):
            if isinstance(labels[d], int):
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
            labels[d] = place
    kept = frozenset(x for x in [*left, *right] if isinstance(x, str))
    return contraction(tuple(left), of_self, tuple(right), of_other, kept)
