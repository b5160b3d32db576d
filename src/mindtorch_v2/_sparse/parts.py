"""Sparse tensors taken apart and put together, and what their layouts are called."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import mindtorch_v2 as torch

from .. import _C
from .._C import Tensor, _functions

COO, CSR, CSC, BSR, BSC = "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"
COMPRESSED = (CSR, CSC, BSR, BSC)
BY_ROWS = (CSR, BSR)
BLOCKS = (BSR, BSC)
TURNED = {CSR: CSC, CSC: CSR, BSR: BSC, BSC: BSR}
# PyTorch's names in messages.
TITLES = {
    "strided": "Strided", COO: "Sparse", CSR: "SparseCsr", CSC: "SparseCsc", BSR: "SparseBsr", BSC: "SparseBsc",
}  # fmt: skip

layout_of = _C._sparse.layout


class Coo(NamedTuple):
    """Indices of shape (sparse dimensions, elements), values of shape (elements, dense dimensions...)."""

    indices: Tensor
    values: Tensor
    coalesced: bool


class Compressed(NamedTuple):
    """``compressed`` has the beginnings of rows (columns), ``plain`` the columns (rows) of the elements."""

    layout: str
    compressed: Tensor
    plain: Tensor
    values: Tensor

    @property
    def batch(self) -> int:
        """How many dimensions of the batch there are."""
        return self.compressed.dim() - 1

    @property
    def block(self) -> tuple[int, int]:
        if self.layout not in BLOCKS:
            return 1, 1
        return self.values.shape[self.batch + 1], self.values.shape[self.batch + 2]

    @property
    def dense(self) -> int:
        """How many dense dimensions there are."""
        return self.values.dim() - self.batch - (3 if self.layout in BLOCKS else 1)


def title_of(dtype: _C.dtype) -> str:
    """PyTorch's name of a dtype in messages: Float, Long."""
    return torch.empty(0, dtype=dtype).type()[len("torch.") : -len("Tensor")]


def is_sparse(tensor: object) -> bool:
    return isinstance(tensor, Tensor) and layout_of(tensor) != "strided"


def all_parts(tensor: Tensor) -> tuple[str, Tensor, Tensor | None, Tensor, bool]:
    """Layout, indices, plain indices of compressed layouts, values, whether it is coalesced."""
    found = _C._sparse.parts(tensor)
    if found is None:
        raise TypeError("wanted a sparse tensor, got a strided one")
    return found


def coo_parts(tensor: Tensor) -> Coo:
    _, indices, _, values, coalesced = all_parts(tensor)
    return Coo(indices, values, coalesced)


def compressed_parts(tensor: Tensor) -> Compressed:
    layout, compressed, plain, values, _ = all_parts(tensor)
    if plain is None:
        raise TypeError("wanted a tensor of a compressed layout, got one in coordinates")
    return Compressed(layout, compressed, plain, values)


def values_of(tensor: Tensor) -> Tensor:
    return all_parts(tensor)[3]


def make_coo(indices: Tensor, values: Tensor, size: Sequence[int], coalesced: bool = False) -> Tensor:
    return _C._sparse.make(COO, list(size), indices, None, values, coalesced)


def make_compressed(
    layout: str, compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int]
) -> Tensor:
    return _C._sparse.make(layout, list(size), compressed, plain, values, False)


def with_values(tensor: Tensor, values: Tensor) -> Tensor:
    """A tensor with the same places and other values."""
    layout, indices, plain, _, coalesced = all_parts(tensor)
    return _C._sparse.make(layout, list(tensor.shape), indices, plain, values, coalesced)


def become(tensor: Tensor, other: Tensor) -> Tensor:
    """Gives a sparse tensor the parts of another one of its layout; the values keep the tensor's dtype."""
    layout, indices, plain, values, coalesced = all_parts(other)
    if layout != layout_of(tensor):
        raise RuntimeError(
            f"a tensor of layout {TITLES[layout_of(tensor)]} cannot become one of layout {TITLES[layout]} in place"
        )
    _C._sparse.set_parts(tensor, list(other.shape), indices, plain, values.to(tensor.dtype), coalesced)
    return tensor


def sparse_dims(tensor: Tensor) -> int:
    """The number of sparse dimensions of a tensor in coordinates."""
    return coo_parts(tensor).indices.shape[0]


def empty_coo(size: Sequence[int], sparse_dim: int, dtype: _C.dtype, device: Any) -> Tensor:
    indices = torch.empty((sparse_dim, 0), dtype=torch.int64, device=device)
    values = torch.empty((0, *size[sparse_dim:]), dtype=dtype, device=device)
    return make_coo(indices, values, size, True)


def keys_of(indices: Tensor, size: Sequence[int]) -> Tensor:
    """The places as one number each, in row-major order."""
    if indices.shape[0] == 0:
        return torch.zeros(indices.shape[1], dtype=indices.dtype, device=indices.device)
    keys = indices[0]
    for row, length in zip(indices[1:].unbind(0) if indices.shape[0] > 1 else (), size[1:], strict=False):
        keys = keys * length + row
    return keys


def indices_of(keys: Tensor, size: Sequence[int]) -> Tensor:
    """Numbers of places as indices again."""
    rows = []
    for length in reversed(size):
        rows.append(keys % length if length else keys)
        keys = keys // length if length else keys
    if not rows:
        return torch.empty((0, keys.shape[0]), dtype=keys.dtype, device=keys.device)
    return torch.stack(rows[::-1])


def sorted_runs(keys: Tensor) -> tuple[Tensor, Tensor]:
    """The order that sorts the keys, and where each run of equal ones begins in it."""
    ordered, order = torch.sort(keys, stable=True)
    first = torch.ones(ordered.shape[0], dtype=torch.bool, device=keys.device)
    first[1:] = ordered[1:] != ordered[:-1]
    return order, first.nonzero()[:, 0]


def sums_of_runs(values: Tensor, order: Tensor, begins: Tensor) -> Tensor:
    """The sum of the values of each run."""
    count = order.shape[0]
    if begins.shape[0] == count:
        return values.index_select(0, order)
    end = torch.full((1,), count, dtype=begins.dtype, device=begins.device)
    flat = values.reshape(count, math.prod(values.shape[1:]))
    sums = _functions._segment_sum(flat, torch.cat([begins, end]), order)
    return sums.reshape(begins.shape[0], *values.shape[1:])


def coalesced_parts(tensor: Tensor) -> Coo:
    """Places in order, none of them twice."""
    parts = coo_parts(tensor)
    if parts.coalesced or parts.values.shape[0] < 2 or tensor.is_meta:
        return Coo(parts.indices, parts.values, True)
    order, begins = sorted_runs(keys_of(parts.indices, tensor.shape))
    values = sums_of_runs(parts.values, order, begins)
    return Coo(parts.indices.index_select(1, order.index_select(0, begins)), values, True)


def coalesced(tensor: Tensor) -> Tensor:
    return (
        tensor if coo_parts(tensor).coalesced else make_coo(*coalesced_parts(tensor)[:2], tensor.shape, True)
    )


def rows_of(offsets: Tensor, count: int) -> Tensor:
    """The row of each element, from where the rows begin; in batches, for each of them."""
    lengths = offsets[..., 1:] - offsets[..., :-1]
    rows = torch.arange(lengths.shape[-1], dtype=offsets.dtype, device=offsets.device)
    flat = rows.expand(lengths.shape).reshape(-1)
    total = count * math.prod(lengths.shape[:-1])
    return torch.repeat_interleave(flat, lengths.reshape(-1), output_size=total).reshape(
        *lengths.shape[:-1], count
    )
