"""Sums, norms and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .. import _C
from .._C import Tensor, _functions
from .._types.size import from_front
from .conversions import taken_at
from .parts import (
    COO,
    CSR,
    TITLES,
    coalesced,
    coalesced_parts,
    compressed_parts,
    coo_parts,
    keys_of,
    layout_of,
    make_compressed,
    make_coo,
    sorted_runs,
    values_of,
    with_values,
)
from .table import refuse, sparse


def sum_over(self: Tensor, dims: Sequence[int], keepdim: bool, dtype: _C.dtype | None) -> Tensor:
    """Sums of a tensor in coordinates: sparse while a sparse dimension is left."""
    indices, values, is_coalesced = coo_parts(self)
    depth = indices.shape[0]
    gone = sorted(from_front(dim, self.dim()) for dim in dims)
    if len(set(gone)) != len(gone):
        raise RuntimeError(
            f"dim {next(d for d in gone if gone.count(d) > 1)} appears multiple times in the list of dims"
        )
    over = [dim - depth + 1 for dim in gone if dim >= depth]
    values = (
        values.sum(over, keepdim=keepdim, dtype=dtype)
        if over
        else (values if dtype is None else values.to(dtype))
    )
    left = [dim for dim in range(depth) if dim not in gone]
    kept = [1 if d in gone else self.shape[d] for d in range(self.dim()) if keepdim or d not in gone]
    if len(left) == depth:
        return make_coo(indices, values, kept, is_coalesced)
    if not left and not keepdim:
        return values.sum(0)
    if keepdim:
        indices = indices.clone()
        indices[[dim for dim in gone if dim < depth]] = 0
    else:
        indices = indices[left]
    return coalesced(make_coo(indices, values, kept))


@sparse("sum")
def sum_(
    self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, dtype: _C.dtype | None = None
) -> Tensor:
    if not dim:
        total = values_of(self).sum(dtype=dtype)
        return total.reshape([1] * self.dim()) if keepdim else total
    layout = layout_of(self)
    if layout == COO:
        exact = not self.is_floating_point() and not self.is_complex()
        return sum_over(self, dim, keepdim, torch.int64 if dtype is None and exact else dtype)
    if layout != CSR:
        raise RuntimeError(
            "Currently the only compressed sparse format supported for sum.dim_IntList is CSR, but got layout "
            f"{TITLES[layout]}"
        )
    return _sum_of_csr(self, dim, keepdim, dtype)


def _sum_of_csr(self: Tensor, dims: Sequence[int], keepdim: bool, dtype: _C.dtype | None) -> Tensor:
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    parts = compressed_parts(self)
    if parts.batch:
        raise RuntimeError("a batch of CSR tensors has no sums over dimensions; use to_dense() first")
    gone = {from_front(dim, self.dim()) for dim in dims}
    values = parts.values if dtype is None else parts.values.to(dtype)
    flat = values.reshape(-1, 1)
    index = parts.compressed.dtype
    device = self.device
    if gone == {0, 1}:
        total = values.sum(dtype=dtype).reshape(1)
        begins = torch.tensor([0, 1], dtype=index, device=device)
        return make_compressed(CSR, begins, torch.zeros(1, dtype=index, device=device), total, (1, 1))
    every = torch.arange(parts.plain.shape[0], device=device)
    if gone == {1}:
        sums = _functions._segment_sum(flat, parts.compressed, every).reshape(-1)
        filled = parts.compressed[1:] != parts.compressed[:-1]
        begins = torch.cat([parts.compressed[:1], filled.to(index).cumsum(0).to(index)])
        kept = sums.index_select(0, filled.nonzero()[:, 0])
        return make_compressed(CSR, begins, torch.zeros(kept.shape[0], dtype=index, device=device), kept,
                               (self.shape[0], 1))  # fmt: skip
    order, starts = sorted_runs(parts.plain)
    ends = torch.cat([starts, torch.full((1,), order.shape[0], dtype=starts.dtype, device=device)])
    sums = _functions._segment_sum(flat, ends, order).reshape(-1)
    columns = parts.plain.index_select(0, order.index_select(0, starts))
    begins = torch.tensor([0, columns.shape[0]], dtype=index, device=device)
    return make_compressed(CSR, begins, columns, sums, (1, self.shape[1]))


@sparse("_sparse_sum")
def sparse_sum(self: Tensor, dim: Sequence[int]) -> Tensor:
    if layout_of(self) != COO:
        raise refuse("_indices", "", [self])
    if not dim:
        raise RuntimeError("_sparse_sum: needs dim")
    return sum_over(coalesced(self), dim, False, None)


@sparse("_sparse_sum_backward")
def sparse_sum_backward(grad_output: Tensor, self: Tensor, dim: Sequence[int]) -> Tensor:
    """The gradient at the elements that there are."""
    indices, values, is_coalesced = coalesced_parts(self)
    depth = indices.shape[0]
    gone = {from_front(d, self.dim()) for d in dim}
    left = [d for d in range(depth) if d not in gone]
    if layout_of(grad_output) == "strided":
        if left:
            raise RuntimeError("_sparse_sum_backward_cpu: expected grad_ Tensor to be sparse, but got dense")
        at = grad_output.unsqueeze(0)
        taken = at.expand(values.shape[0], *at.shape[1:])
    else:
        taken = taken_at(grad_output, indices[left])
    for d in sorted(gone):
        if d >= depth:
            taken = taken.unsqueeze(d - depth + 1)
    return make_coo(indices, taken.expand(values.shape).clone(), self.shape, is_coalesced)


@sparse("any")
def any_(self: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    if dim:
        raise refuse("any", "", [self])
    return values_of(self).any()


@sparse("native_norm")
def native_norm(
    self: Tensor,
    p: float | None = 2,
    dim: Sequence[int] = (),
    keepdim: bool = False,
    dtype: _C.dtype | None = None,
) -> Tensor:
    """The norm of all elements of a sparse tensor in coordinates."""
    if layout_of(self) != COO:
        raise refuse("native_norm", "", [self])
    if dim and sorted(d % self.dim() for d in dim) != list(range(self.dim())):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all "
            "dimensions of the input"
        )
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    if dtype is not None:
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")
    return coalesced_parts(self).values.norm(2 if p is None else p)


@sparse("linalg_vector_norm")
def norm(
    self: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: _C.dtype | None = None
) -> Tensor:
    if layout_of(self) != COO:
        raise refuse("norm", "out", [self])
    if dim and len(dim) != self.dim():
        raise RuntimeError("norm_sparse currently only supports full reductions, so 'dim' must either be empty or "
                           "contain all dimensions of the input")  # fmt: skip
    return torch.linalg.vector_norm(coalesced_parts(self).values, 2 if p is None else p, dtype=dtype)


# ---- softmax -----------------------------------------------------------------------------------------


def _groups(self: Tensor, dim: int) -> tuple[Tensor, int]:
    """The group of each element: what shares all sparse indices but that of ``dim``."""
    indices = coo_parts(self).indices
    others = [d for d in range(indices.shape[0]) if d != dim]
    keys = keys_of(indices[others], [self.shape[d] for d in others])
    order, begins = sorted_runs(keys)
    run = torch.zeros_like(order)
    run[begins] = 1
    return torch.empty_like(order).index_copy_(0, order, run.cumsum(0) - 1), begins.shape[0]


def _per_group(values: Tensor, group: Tensor, count: int, how: str) -> Tensor:
    start = torch.zeros((count, *values.shape[1:]), dtype=values.dtype, device=values.device)
    made = (
        start.index_add_(0, group, values)
        if how == "sum"
        else start.index_reduce_(0, group, values, "amax", include_self=False)
    )
    return made.index_select(0, group)


def _softmax(self: Tensor, dim: int, logarithm: bool) -> Tensor:
    if layout_of(self) != COO:
        raise refuse(f"_sparse_{'log_' if logarithm else ''}softmax", "", [self])
    self = coalesced(self)
    at = from_front(dim, self.dim())
    values, depth = values_of(self), coo_parts(self).indices.shape[0]
    if at >= depth:
        function = torch.log_softmax if logarithm else torch.softmax
        return with_values(self, function(values, at - depth + 1))
    group, count = _groups(self, at)
    shifted = values - _per_group(values, group, count, "max")
    total = _per_group(shifted.exp(), group, count, "sum")
    return with_values(self, shifted - total.log() if logarithm else shifted.exp() / total)


@sparse("_sparse_softmax")
def softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return _softmax(self, dim, False)


@sparse("_sparse_log_softmax")
def log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return _softmax(self, dim, True)


def _softmax_backward(grad: Tensor, output: Tensor, dim: int, logarithm: bool) -> Tensor:
    if layout_of(grad) != COO:
        raise RuntimeError(
            f"coalesce expected sparse coordinate tensor layout but got {TITLES[layout_of(grad)]}"
        )
    at = from_front(dim, output.dim())
    indices, result, _ = coo_parts(output)
    arrived = taken_at(grad, indices)
    depth = indices.shape[0]
    if at >= depth:
        axis = at - depth + 1
        total = (arrived if logarithm else arrived * result).sum(axis, keepdim=True)
    else:
        group, count = _groups(output, at)
        total = _per_group(arrived if logarithm else arrived * result, group, count, "sum")
    made = arrived - result.exp() * total if logarithm else result * (arrived - total)
    return make_coo(indices, made, output.shape, True)


@sparse("_sparse_softmax_backward_data")
def softmax_backward(grad_output: Tensor, output: Tensor, dim: int, self: Tensor) -> Tensor:
    return _softmax_backward(grad_output, output, dim, False)


@sparse("_sparse_log_softmax_backward_data")
def log_softmax_backward(grad_output: Tensor, output: Tensor, dim: int, self: Tensor) -> Tensor:
    return _softmax_backward(grad_output, output, dim, True)
