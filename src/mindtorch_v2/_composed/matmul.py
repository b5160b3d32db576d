"""Products that are contractions of chosen dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._functions.contractions import Label, contract

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor


def tensordot(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    for i, j in zip(dims_self, dims_other, strict=True):
        first, second = self.size(i), other.size(j)
        if first != second and first != 1 and second != 1:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {first} in dim {i} and second has "
                f"size {second} in dim {j}"
            )
    of_self: list[Label] = [f"a{i}" for i in range(self.dim())]
    of_other: list[Label] = [f"b{i}" for i in range(other.dim())]
    for place, (i, j) in enumerate(zip(dims_self, dims_other, strict=True)):
        for labels, d in ((of_self, i % len(of_self)), (of_other, j % len(of_other))):
            if isinstance(labels[d], int):
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
            labels[d] = place
    kept = {x for x in [*of_self, *of_other] if isinstance(x, str)}
    return contract(self, of_self, other, of_other, set(kept))[0]
