"""Turning, cutting and joining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor, _functions
from .._types.size import from_front
from .conversions import coo_of
from .parts import (
    COO,
    TITLES,
    TURNED,
    compressed_parts,
    coo_parts,
    is_sparse,
    layout_of,
    make_compressed,
    make_coo,
)
from .table import refuse, sparse


def permuted(self: Tensor, dims: Sequence[int]) -> Tensor:
    indices, values, is_coalesced = coo_parts(self)
    depth = indices.shape[0]
    order = [from_front(dim, self.dim()) for dim in dims]
    if len(order) != self.dim():
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.dim()} is not equal to len(dims) = {len(order)}"
        )
    if len(set(order)) != len(order):
        raise RuntimeError("permute(sparse_coo): duplicate dims are not allowed.")
    if any(dim >= depth for dim in order[:depth]):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only "
            "transpositions within sparse and dense dimensions are supported."
        )
    first, rest = order[:depth], order[depth:]
    size = [self.shape[dim] for dim in order]
    if first != sorted(first):
        indices = indices[first] if first else indices
        is_coalesced = False
    if rest != sorted(rest):
        values = values.permute(0, *(dim - depth + 1 for dim in rest))
    return make_coo(indices, values, size, is_coalesced)


def transposed(self: Tensor, dim0: int, dim1: int) -> Tensor:
    first, second = from_front(dim0, self.dim()), from_front(dim1, self.dim())
    if layout_of(self) == COO:
        depth = coo_parts(self).indices.shape[0]
        if min(first, second) < depth <= max(first, second):
            raise RuntimeError(
                f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {depth}, d0: {first}, "
                f"d1: {second}"
            )
        order = list(range(self.dim()))
        order[first], order[second] = order[second], order[first]
        return permuted(self, order)
    if first == second:
        return self.detach()
    parts = compressed_parts(self)
    size = list(self.shape)
    size[first], size[second] = size[second], size[first]
    batch = parts.batch
    if {first, second} == {batch, batch + 1}:
        values = parts.values
        if parts.layout in ("sparse_bsr", "sparse_bsc"):
            values = values.transpose(batch + 1, batch + 2)
        return make_compressed(TURNED[parts.layout], parts.compressed, parts.plain, values, size)
    if max(first, second) < batch:
        compressed, plain, values = (
            part.transpose(first, second) for part in (parts.compressed, parts.plain, parts.values)
        )
        return make_compressed(parts.layout, compressed, plain, values, size)
    kinds = ["Batch" if dim < batch else "Sparse" if dim < batch + 2 else "Dense" for dim in (first, second)]
    raise RuntimeError(
        "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got "
        f"{first}({kinds[0]}) and {second}({kinds[1]})"
    )


@sparse("permute")
def permute(self: Tensor, dims: Sequence[int]) -> Tensor:
    if layout_of(self) == COO:
        return permuted(self, dims)
    order = [from_front(dim, self.dim()) for dim in dims]
    if order == list(range(self.dim())):
        return self.detach()
    moved = [at for at, dim in enumerate(order) if at != dim]
    if len(moved) == 2:
        return transposed(self, *moved)
    raise refuse("permute", "", [self])


@sparse("transpose.int", "swapaxes", "transpose")
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    return transposed(self, dim0, dim1)


@sparse("t")
def t(self: Tensor) -> Tensor:
    depth = coo_parts(self).indices.shape[0] if layout_of(self) == COO else self.dim()
    if depth > 2 or depth < self.dim():
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {depth} sparse and "
            f"{self.dim() - depth} dense dimensions"
        )
    return self.detach() if self.dim() < 2 else transposed(self, 0, 1)


@sparse("unsqueeze")
def unsqueeze(self: Tensor, dim: int) -> Tensor:
    if layout_of(self) != COO:
        raise RuntimeError(f"Sparse {layout_of(self)[-3:].upper()} tensors do not have strides")
    at = from_front(dim, self.dim() + 1)
    indices, values, is_coalesced = coo_parts(self)
    depth = indices.shape[0]
    size = [*self.shape[:at], 1, *self.shape[at:]]
    if at > depth:
        return make_coo(indices, values.unsqueeze(at - depth + 1), size, is_coalesced)
    zeros = torch.zeros((1, indices.shape[1]), dtype=indices.dtype, device=indices.device)
    return make_coo(torch.cat([indices[:at], zeros, indices[at:]]), values, size, is_coalesced)


def chosen(self: Tensor, dim: int, keep: Tensor, index: Tensor | None, length: int) -> Tensor:
    """The elements that ``keep`` names, at other places along a sparse dimension; without one it goes away."""
    indices, values, is_coalesced = coo_parts(self)
    rows = list(indices.index_select(1, keep).unbind(0))
    size = list(self.shape)
    if index is None:
        del rows[dim], size[dim]
    else:
        rows[dim], size[dim] = index, length
    if not rows:
        places = torch.empty((0, keep.shape[0]), dtype=indices.dtype, device=indices.device)
    else:
        places = torch.stack(rows)
    return make_coo(places, values.index_select(0, keep), size, is_coalesced)


@sparse("select.int")
def select(self: Tensor, dim: int, index: int) -> Tensor:
    at = from_front(dim, self.dim())
    size = self.shape[at]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {at}"
        )
    index %= size
    if layout_of(self) != COO and at < compressed_parts(self).batch:
        layout, *parts = compressed_parts(self)
        compressed, plain, values = (part.select(at, index) for part in parts)
        return make_compressed(layout, compressed, plain, values, [*self.shape[:at], *self.shape[at + 1 :]])
    self = coo_of(self)
    indices, values, is_coalesced = coo_parts(self)
    depth = indices.shape[0]
    if at >= depth:
        rest = values.select(at - depth + 1, index)
        return make_coo(indices, rest, [*self.shape[:at], *self.shape[at + 1 :]], is_coalesced)
    keep = (indices[at] == index).nonzero()[:, 0]
    made = chosen(self, at, keep, None, 0)
    if depth > 1:
        return made
    # No sparse dimension is left: the element itself.
    return coo_parts(made).values.sum(0).to(self.dtype)


def _window(self: Tensor, at: int, start: int, end: int, step: int) -> Tensor:
    indices, values, is_coalesced = coo_parts(self)
    depth = indices.shape[0]
    length = max(0, -(-(end - start) // step))
    if at >= depth:
        size = list(self.shape)
        size[at] = length
        window = slice(start, end, step)
        rest = values[(slice(None),) * (at - depth + 1) + (window,)]
        return make_coo(indices, rest, size, is_coalesced)
    row = indices[at]
    inside = (row >= start) & (row < end)
    if step != 1:
        inside = inside & ((row - start) % step == 0)
    keep = inside.nonzero()[:, 0]
    return chosen(self, at, keep, (row.index_select(0, keep) - start) // step, length)


@sparse("slice.Tensor")
def slice_(self: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    at = from_front(dim, self.dim())
    first, last, step = slice(start, end, step).indices(self.shape[at])
    if first == 0 and last == self.shape[at] and step == 1:
        return self.detach()
    if layout_of(self) != COO:
        raise RuntimeError(f"Sparse {layout_of(self)[-3:].upper()} tensors do not have strides")
    return _window(self, at, first, last, step)


@sparse("index_select")
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    if layout_of(self) != COO:
        raise refuse("index_select", "", [self])
    at = from_front(dim, self.dim())
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (torch.int32, torch.int64):
        raise RuntimeError("index_select(): Expected dtype int32/int64 for index")
    indices, values, _ = coo_parts(self)
    depth = indices.shape[0]
    index = index.reshape(-1).to(torch.int64)
    size = self.shape[at]
    if not index.is_meta and index.numel() and bool(((index < -size) | (index >= size)).any()):
        raise IndexError(f"index_select(): index contains {int(index.max())} that is out of range for tensor of "
                         f"size {list(self.shape)} at dimension {at}")  # fmt: skip
    index = torch.where(index < 0, index + size, index)
    if at >= depth:
        made = list(self.shape)
        made[at] = index.shape[0]
        return make_coo(indices, values.index_select(at - depth + 1, index), made, coo_parts(self).coalesced)
    # Elements are brought into the order of that dimension: those of an index are then one run.
    order = torch.argsort(indices[at], stable=True)
    begins = _functions._row_offsets(indices[at], size)
    first = begins.index_select(0, index)
    counts = begins.index_select(0, index + 1) - first
    ends = counts.cumsum(0)
    total = int(ends[-1]) if ends.shape[0] else 0
    place = torch.repeat_interleave(
        torch.arange(index.shape[0], device=index.device), counts, output_size=total
    )
    inside = torch.arange(total, device=index.device) + (first - (ends - counts)).index_select(0, place)
    return chosen(self, at, order.index_select(0, inside), place, index.shape[0])


@sparse("unbind")
def unbind(self: Tensor, dim: int = 0) -> list[Tensor]:
    return [select(self, dim, index) for index in range(self.shape[from_front(dim, self.dim())])]


@sparse("cat")
def cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    for tensor in tensors:
        layout = layout_of(tensor)
        if layout not in (COO, "strided"):
            raise RuntimeError(f"Sparse {layout[-3:].upper()} tensors do not have is_contiguous")
    if not all(map(is_sparse, tensors)):
        at = next(i for i, tensor in enumerate(tensors) if not is_sparse(tensor))
        raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {at}.")
    first = tensors[0]
    at = from_front(dim, first.dim())
    depth = coo_parts(first).indices.shape[0]
    for number, tensor in enumerate(tensors):
        sizes = [own for i, own in enumerate(tensor.shape) if i != at]
        if sizes != [own for i, own in enumerate(first.shape) if i != at]:
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), "
                f"but found shape: {list(tensor.shape)} at position {number}."
            )
        if coo_parts(tensor).indices.shape[0] != depth:
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: {depth}, {first.dim() - depth}, but "
                f"tensor at position {number} has {coo_parts(tensor).indices.shape[0]}, "
                f"{tensor.dim() - coo_parts(tensor).indices.shape[0]}."
            )
    size = list(first.shape)
    size[at] = sum(tensor.shape[at] for tensor in tensors)
    if at < depth:
        shifted, total = [], 0
        for tensor in tensors:
            indices = coo_parts(tensor).indices
            if total:
                indices = indices.clone()
                indices[at] += total
            shifted.append(indices)
            total += tensor.shape[at]
        flag = at == 0 and all(coo_parts(tensor).coalesced for tensor in tensors)
        return make_coo(torch.cat(shifted, 1), torch.cat([coo_parts(t).values for t in tensors]), size, flag)
    # Along a dense dimension every tensor fills its part of wider values with zeros around it.
    widened, total = [], 0
    for tensor in tensors:
        values = coo_parts(tensor).values
        wide = values.new_zeros((values.shape[0], *size[depth:]))
        wide.narrow(at - depth + 1, total, tensor.shape[at]).copy_(values)
        widened.append(wide)
        total += tensor.shape[at]
    return make_coo(torch.cat([coo_parts(t).indices for t in tensors], 1), torch.cat(widened), size)


@sparse("expand")
def expand(self: Tensor, size: Sequence[int], implicit: bool) -> Tensor:
    if list(size) == list(self.shape) and implicit:
        return self.detach()
    raise RuntimeError(f"expand is unsupported for {TITLES[layout_of(self)]} tensors")


@sparse("view")
def reshape(self: Tensor, size: Sequence[int], *rest: Any) -> Tensor:
    if list(size) == list(self.shape):
        return self.detach()
    if layout_of(self) == COO:
        raise RuntimeError("reshape is not implemented for sparse tensors")
    raise refuse("view", "", [self])


@sparse("resize_as_")
def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    if is_sparse(self):
        return self.resize_as_sparse_(the_template)
    return self.resize_(the_template.shape)


@sparse("resize_")
def resize_(self: Tensor, *arguments: Any) -> Tensor:
    raise RuntimeError("resize_ is not implemented for sparse tensors; use sparse_resize_")
