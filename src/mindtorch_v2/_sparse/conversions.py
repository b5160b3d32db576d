"""From one layout to another."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mindtorch_v2 as torch

from .. import _C
from .._C import Tensor, _functions
from .parts import (
    BLOCKS,
    BSC,
    BSR,
    BY_ROWS,
    COO,
    CSC,
    CSR,
    TITLES,
    Compressed,
    coalesced_parts,
    compressed_parts,
    coo_parts,
    keys_of,
    layout_of,
    make_compressed,
    make_coo,
    rows_of,
    sorted_runs,
)
from .table import refuse, sparse

Block = tuple[int, int]

# ---- to dense ----------------------------------------------------------------------------------------


def _coo_to_dense(tensor: Tensor) -> Tensor:
    indices, values, is_coalesced = coo_parts(tensor)
    places, width = tensor.shape[: indices.shape[0]], tensor.shape[indices.shape[0] :]
    if values.dtype == torch.bool and not is_coalesced:
        indices, values, is_coalesced = coalesced_parts(tensor)
    flat = torch.zeros((math.prod(places), *width), dtype=values.dtype, device=values.device)
    keys = keys_of(indices, places)
    flat = flat.index_copy_(0, keys, values) if is_coalesced else flat.index_add_(0, keys, values)
    return flat.reshape(tensor.shape)


def matrix_indices(parts: Compressed) -> tuple[Tensor, Tensor]:
    """The row and the column of each element (block) of a compressed tensor, for each batch."""
    major = rows_of(parts.compressed, parts.plain.shape[-1])
    plain = parts.plain
    return (major, plain) if parts.layout in BY_ROWS else (plain, major)


def _compressed_to_dense(tensor: Tensor) -> Tensor:
    parts = compressed_parts(tensor)
    batch, block = tensor.shape[: parts.batch], parts.block
    rows, columns = tensor.shape[parts.batch : parts.batch + 2]
    width = tensor.shape[parts.batch + 2 :]
    row, column = matrix_indices(parts)
    many, count = math.prod(batch), parts.plain.shape[-1]
    across = columns // block[1]
    keys = (row * across + column).reshape(many, count).to(torch.int64)
    apart = torch.arange(many, dtype=torch.int64, device=keys.device) * (rows // block[0] * across)
    flat = torch.zeros(
        (many * (rows // block[0]) * across, *block, *width), dtype=tensor.dtype, device=tensor.device
    )
    flat.index_copy_(
        0, (keys + apart[:, None]).reshape(-1), parts.values.reshape(many * count, *block, *width)
    )
    whole = flat.reshape(many, rows // block[0], across, *block, *width).transpose(2, 3)
    return whole.reshape(tensor.shape)


def dense_of(tensor: Tensor) -> Tensor:
    layout = layout_of(tensor)
    if layout == "strided":
        return tensor
    return _coo_to_dense(tensor) if layout == COO else _compressed_to_dense(tensor)


@sparse("_to_dense")
def to_dense(self: Tensor, dtype: _C.dtype | None, masked_grad: bool | None) -> Tensor:
    made = dense_of(self)
    return made if dtype is None else made.to(dtype)


# ---- to coordinates ----------------------------------------------------------------------------------


def _dense_to_coo(tensor: Tensor, sparse_dim: int) -> Tensor:
    if not 0 <= sparse_dim <= tensor.dim():
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{tensor.dim()}] range, but {sparse_dim} is given"
        )
    if sparse_dim == 0 and tensor.dim() > 0:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    if tensor.is_meta:
        raise NotImplementedError(
            "to_sparse(): of meta tensors nobody knows how many elements they have, which depends on values"
        )
    if tensor.dim() == 0:
        count = int(bool(tensor != 0))
        indices = torch.zeros((0, count), dtype=torch.int64, device=tensor.device)
        return make_coo(indices, tensor.reshape(1)[:count].clone(), (), True)
    filled = tensor != 0
    if sparse_dim < tensor.dim():
        filled = filled.flatten(sparse_dim).any(-1)
    indices = filled.nonzero().t().contiguous()
    flat = tensor.reshape(math.prod(tensor.shape[:sparse_dim]), *tensor.shape[sparse_dim:])
    values = flat.index_select(0, keys_of(indices, tensor.shape[:sparse_dim]))
    return make_coo(indices, values, tensor.shape, True)


def _compressed_to_coo(tensor: Tensor) -> Tensor:
    parts = compressed_parts(tensor)
    row, column = (part.to(torch.int64) for part in matrix_indices(parts))
    batch, count = tensor.shape[: parts.batch], parts.plain.shape[-1]
    many = math.prod(batch)
    indices = torch.stack([row.reshape(-1), column.reshape(-1)])
    values = parts.values.reshape(many * count, *parts.values.shape[parts.batch + 1 :])
    if parts.layout in BLOCKS:
        high, wide = parts.block
        device = indices.device
        down = torch.arange(high, device=device).repeat_interleave(wide)
        over = torch.arange(wide, device=device).repeat(high)
        indices = torch.stack([
            (indices[0, :, None] * high + down).reshape(-1),
            (indices[1, :, None] * wide + over).reshape(-1),
        ])  # fmt: skip
        values = values.reshape(many * count * high * wide, *values.shape[3:])
        count *= high * wide
    if batch:
        which = torch.arange(many, device=indices.device).repeat_interleave(count)
        places = torch.unravel_index(which, batch)
        indices = torch.cat([torch.stack(list(places)), indices])
    return make_coo(indices, values, tensor.shape, parts.layout == CSR)


def coo_of(tensor: Tensor, sparse_dim: int | None = None) -> Tensor:
    layout = layout_of(tensor)
    if layout == COO:
        return tensor
    if layout == "strided":
        return _dense_to_coo(tensor, tensor.dim() if sparse_dim is None else sparse_dim)
    return _compressed_to_coo(tensor)


@sparse("_to_sparse")
def to_sparse(self: Tensor, sparse_dim: int | None) -> Tensor:
    layout = layout_of(self)
    if sparse_dim is not None and layout != "strided":
        own = coo_parts(self).indices.shape[0] if layout == COO else self.dim() - compressed_parts(self).dense
        if own != sparse_dim:
            raise RuntimeError(
                f"to_sparse: conversion from {TITLES[layout]} to Sparse with sparse_dim argument !=self.sparse_dim() "
                "is not supported"
            )
    return coo_of(self, sparse_dim)


# ---- to compressed -----------------------------------------------------------------------------------


def _check_block(name: str, size: Sequence[int], block: Sequence[int]) -> None:
    if block[0] <= 0 or block[1] <= 0:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(block)}")
    if size[0] % block[0] or size[1] % block[1]:
        raise RuntimeError(
            f"{name}: tensor sparse size ({size[0]},{size[1]}) must be divisible by given blocksize "
            f"({block[0]},{block[1]})"
        )


def _blocks_of_coo(tensor: Tensor, block: Block) -> Tensor:
    """Coordinates of blocks, whose elements are dense dimensions of the values."""
    indices, values, _ = coalesced_parts(tensor)
    high, wide = block
    rows, columns = tensor.shape[:2]
    across = columns // wide
    keys = (indices[0] // high) * across + indices[1] // wide
    order, begins = sorted_runs(keys)
    run = torch.zeros_like(order)
    run[begins[1:]] = 1
    place = torch.empty_like(order).index_copy_(0, order, run.cumsum(0))
    inside = (indices[0] % high) * wide + indices[1] % wide
    count = begins.shape[0]
    filled = torch.zeros((count * high * wide, *values.shape[1:]), dtype=values.dtype, device=values.device)
    filled.index_copy_(0, place * (high * wide) + inside, values)
    which = keys.index_select(0, order.index_select(0, begins))
    size = (rows // high, across, high, wide, *tensor.shape[2:])
    return make_coo(
        torch.stack([which // across, which % across]),
        filled.reshape(count, high, wide, *values.shape[1:]), size, True,
    )  # fmt: skip


def _compressed_of_coo(tensor: Tensor, layout: str, size: Sequence[int]) -> Tensor:
    """``tensor`` has two sparse dimensions: elements, or blocks."""
    if layout in BY_ROWS:
        indices, values, _ = coalesced_parts(tensor)
        major, plain = indices[0], indices[1]
    else:
        parts = coo_parts(tensor)
        turned = (tensor.shape[1], tensor.shape[0], *tensor.shape[2:])
        indices, values, _ = coalesced_parts(make_coo(parts.indices.flip(0), parts.values, turned))
        major, plain = indices[0], indices[1]
    lines = tensor.shape[0 if layout in BY_ROWS else 1]
    return make_compressed(layout, _functions._row_offsets(major, lines), plain, values, size)


def _batched(tensor: Tensor, layout: str, block: Block | None, dense_dim: int) -> Tensor:
    """Of a dense tensor with a batch: every one must have as many elements."""
    batch = tensor.shape[: tensor.dim() - 2 - dense_dim]
    flat = tensor.reshape(math.prod(batch), *tensor.shape[len(batch) :])
    made = [compressed_parts(compressed_of(each, layout, block, dense_dim)) for each in flat.unbind(0)]
    if len({parts.plain.shape[0] for parts in made}) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    joined = [torch.stack(list(parts)) for parts in zip(*(each[1:] for each in made), strict=True)]
    compressed, plain, values = (part.reshape(*batch, *part.shape[1:]) for part in joined)
    return make_compressed(layout, compressed, plain, values, tensor.shape)


def _not_a_matrix(name: str, layout: str) -> RuntimeError:
    return RuntimeError(
        f"{name}: conversion from Sparse to {TITLES[layout]} for input tensors with sparse_dim()!=2 is not supported"
    )


def compressed_of(
    tensor: Tensor, layout: str, block: Sequence[int] | None = None, dense_dim: int | None = None
) -> Tensor:
    now = layout_of(tensor)
    source = {"strided": "dense", COO: "coo"}.get(now, "sparse_compressed")
    name = f"{source}_to_{layout}"
    if now == layout and (block is None or compressed_parts(tensor).block == tuple(block)):
        return tensor
    if now == "strided":
        dense = dense_dim or 0
        if tensor.dim() < 2 + dense:
            raise RuntimeError(
                f"{name}: dense_dim argument must be in [0,{max(tensor.dim() - 2, 0)}] range, but {dense} is given"
                if dense
                else f"{name}: expected a tensor with at least two dimensions, but got {tensor.dim()}"
            )
    elif dense_dim is not None:
        own = tensor.dim() - sparse_dimensions(tensor)
        if own != dense_dim:
            raise RuntimeError(f"{name}: conversion with another number of dense dimensions is not supported")
        dense = own
    else:
        dense = tensor.dim() - sparse_dimensions(tensor)
    batch = tensor.dim() - 2 - dense
    if batch > 0:
        if now == COO:
            raise _not_a_matrix(name, layout)
        return _batched(dense_of(tensor), layout, None if block is None else (block[0], block[1]), dense)
    if now == COO and coo_parts(tensor).indices.shape[0] != 2:
        raise _not_a_matrix(name, layout)
    if layout in BLOCKS:
        assert block is not None
        _check_block(name, tensor.shape, block)
        blocks = _blocks_of_coo(coo_of(tensor, 2), (block[0], block[1]))
        return _compressed_of_coo(blocks, layout, tensor.shape)
    return _compressed_of_coo(coo_of(tensor, 2), layout, tensor.shape)


def sparse_dimensions(tensor: Tensor) -> int:
    """All dimensions but the dense ones: a batch counts as the rest does not."""
    layout = layout_of(tensor)
    if layout == "strided":
        return 0
    if layout == COO:
        return coo_parts(tensor).indices.shape[0]
    return tensor.dim() - compressed_parts(tensor).dense


@sparse("_to_sparse_csr")
def to_sparse_csr(self: Tensor, dense_dim: int | None) -> Tensor:
    return compressed_of(self, CSR, None, dense_dim)


@sparse("_to_sparse_csc")
def to_sparse_csc(self: Tensor, dense_dim: int | None) -> Tensor:
    return compressed_of(self, CSC, None, dense_dim)


@sparse("_to_sparse_bsr")
def to_sparse_bsr(self: Tensor, blocksize: Sequence[int], dense_dim: int | None) -> Tensor:
    return compressed_of(self, BSR, blocksize, dense_dim)


@sparse("_to_sparse_bsc")
def to_sparse_bsc(self: Tensor, blocksize: Sequence[int], dense_dim: int | None) -> Tensor:
    return compressed_of(self, BSC, blocksize, dense_dim)


@sparse("_to_layout")
def to_layout(self: Tensor, layout: str, blocksize: Sequence[int]) -> Tensor:
    if layout == "strided":
        return dense_of(self)
    return coo_of(self) if layout == COO else compressed_of(self, layout, blocksize or None)


# ---- a mask ------------------------------------------------------------------------------------------


def taken_at(tensor: Tensor, indices: Tensor) -> Tensor:
    """The values of a tensor, dense or in coordinates, at places; zero where a sparse one has none."""
    places = tensor.shape[: indices.shape[0]]
    keys = keys_of(indices, places)
    if layout_of(tensor) == "strided":
        flat = tensor.reshape(math.prod(places), *tensor.shape[indices.shape[0] :])
        return flat.index_select(0, keys)
    own, values, _ = coalesced_parts(coo_of(tensor))
    count = values.shape[0]
    if count == 0:
        return torch.zeros((keys.shape[0], *values.shape[1:]), dtype=values.dtype, device=values.device)
    known = keys_of(own, places)
    at = torch.searchsorted(known, keys).clamp_(max=count - 1)
    found = known.index_select(0, at) == keys
    taken = values.index_select(0, at)
    return torch.where(found.reshape(-1, *[1] * (values.dim() - 1)), taken, torch.zeros_like(taken))


@sparse("_sparse_mask_projection")
def sparse_mask_projection(self: Tensor, mask: Tensor, accumulate_matches: bool = False) -> Tensor:
    """A sparse tensor's elements at the places of another's; those of one place are added up."""
    if layout_of(self) != COO or layout_of(mask) != COO:
        raise refuse("_sparse_mask_projection", "", [self, mask])
    return sparse_mask(self, mask)


@sparse("sparse_mask")
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    layout = layout_of(mask)
    if layout == "strided":
        raise NotImplementedError(
            "Could not run 'aten::sparse_mask' with arguments from the 'CPU' backend. The mask is not sparse: "
            "use mask.to_sparse()"
        )
    if self.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size "
            f"{list(mask.shape)}"
        )
    if layout == COO:
        indices, _, is_coalesced = coo_parts(mask)
        return make_coo(indices, taken_at(self, indices), mask.shape, is_coalesced)
    parts = compressed_parts(mask)
    if parts.batch or parts.dense:
        whole = dense_of(self)
        made = compressed_of(whole, layout, parts.block if layout in BLOCKS else None, parts.dense)
        if compressed_parts(made).plain.shape == parts.plain.shape:
            return made
    row, column = matrix_indices(parts)
    if layout in BLOCKS:
        whole, (high, wide) = dense_of(self), parts.block
        tiles = whole.reshape(whole.shape[0] // high, high, whole.shape[1] // wide, wide).transpose(1, 2)
        values = tiles[row, column]
    else:
        values = taken_at(self, torch.stack([row, column]).to(torch.int64))
    return make_compressed(layout, parts.compressed, parts.plain, values.to(self.dtype), mask.shape)
