"""Sparse tensors from their parts, and the checks of what they say."""

from __future__ import annotations

from collections.abc import Sequence

from .._C import Tensor
from .parts import COO, TITLES, coalesced, coo_parts, layout_of, make_compressed, make_coo, values_of
from .table import sparse


@sparse("_sparse_coo_tensor_with_dims_and_tensors")
def from_coordinates(
    sparse_dim: int,
    dense_dim: int,
    size: Sequence[int],
    indices: Tensor,
    values: Tensor,
    is_coalesced: bool | None,
) -> Tensor:
    return make_coo(indices, values, size, bool(is_coalesced))


@sparse("_sparse_compressed_tensor")
def from_compressed(
    compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int], layout: str
) -> Tensor:
    return make_compressed(layout, compressed, plain, values, size)


@sparse("_coalesce")
def coalesce(self: Tensor) -> Tensor:
    return coalesced(self)


@sparse("values")
def values(self: Tensor) -> Tensor:
    layout = layout_of(self)
    if layout == "strided":
        raise RuntimeError(f"values expected sparse tensor layout but got {TITLES[layout]}")
    if layout == COO and not coo_parts(self).coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return values_of(self).view(values_of(self).shape)
