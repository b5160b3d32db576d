"""Products of matrices. Rows of the dense factor are summed, as the places of the sparse one choose them."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor, _functions
from .conversions import compressed_of, coo_of, dense_of, matrix_indices, sparse_mask
from .elementwise import add
from .parts import (
    BLOCKS,
    COO,
    CSR,
    TITLES,
    coalesced,
    coalesced_parts,
    compressed_parts,
    coo_parts,
    empty_coo,
    is_sparse,
    layout_of,
    make_coo,
    title_of,
    with_values,
)
from .shapes import transposed
from .table import refuse, sparse


def _check(name: str, a: Tensor, b: Tensor) -> None:
    if a.dim() != 2 or b.dim() != 2:
        raise IndexError(f"{name}: wanted two matrices, got tensors of {a.dim()} and {b.dim()} dimensions")
    if a.shape[1] != b.shape[0]:
        if layout_of(a) == COO or layout_of(b) == COO:
            left, right = (a.shape[1], b.shape[0]) if is_sparse(a) else (b.shape[0], a.shape[1])
            raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {left}, got {right}")
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    if a.dtype != b.dtype:
        wanted, got = (title_of(each.dtype) for each in (a, b))
        raise RuntimeError(f"expected scalar type {wanted} but found {got}")


def _with_dense(a: Tensor, b: Tensor) -> Tensor:
    """Sparse times dense."""
    layout = layout_of(a)
    if layout in BLOCKS:
        a, layout = compressed_of(coo_of(a), CSR), CSR
    if layout == COO:
        indices, values, is_coalesced = coo_parts(a)
        if values.dim() > 1:
            raise RuntimeError("a matrix with dense dimensions takes no part in products")
        if is_coalesced:
            return _functions._segment_sum(
                b, _functions._row_offsets(indices[0], a.shape[0]), indices[1], values
            )
        return _functions._scatter_products(b, indices[0], indices[1], values, a.shape[0])
    parts = compressed_parts(a)
    if layout == CSR:
        return _functions._segment_sum(b, parts.compressed, parts.plain, parts.values)
    row, column = matrix_indices(parts)
    return _functions._scatter_products(b, row, column, parts.values, a.shape[0])


def _both_sparse(a: Tensor, b: Tensor) -> Tensor:
    """Every element of a row of the first meets the row of the second that its column names."""
    left, right = coalesced_parts(coo_of(a)), coalesced_parts(coo_of(b))
    begins = _functions._row_offsets(right.indices[0], b.shape[0])
    columns = left.indices[1]
    first = begins.index_select(0, columns)
    counts = begins.index_select(0, columns + 1) - first
    ends = counts.cumsum(0)
    total = int(ends[-1]) if ends.shape[0] else 0
    which = torch.repeat_interleave(
        torch.arange(counts.shape[0], device=counts.device), counts, output_size=total
    )
    place = torch.arange(total, device=counts.device) + (first - (ends - counts)).index_select(0, which)
    values = left.values.index_select(0, which) * right.values.index_select(0, place)
    indices = torch.stack([left.indices[0].index_select(0, which), right.indices[1].index_select(0, place)])
    return coalesced(make_coo(indices, values, (a.shape[0], b.shape[1])))


def product(a: Tensor, b: Tensor) -> Tensor:
    if is_sparse(a) and is_sparse(b):
        made = _both_sparse(a, b)
        return made if layout_of(a) == COO else compressed_of(made, CSR)
    if is_sparse(a):
        return _with_dense(a, b)
    return _with_dense(transposed(b, 0, 1), a.t()).t()


@sparse("mm")
def mm(self: Tensor, mat2: Tensor) -> Tensor:
    _check("mm", self, mat2)
    return product(self, mat2)


@sparse("_sparse_sparse_matmul")
def sparse_matmul(self: Tensor, other: Tensor) -> Tensor:
    _check("sparse_sparse_matmul", self, other)
    return product(self, other)


def _plus(scaled: Tensor, beta: Any, made: Tensor, alpha: Any) -> Tensor:
    made = made if alpha == 1 else made * alpha
    if beta == 0:
        return made
    first = scaled if beta == 1 else scaled * beta
    if is_sparse(first) and not is_sparse(made):
        return torch.add(made, first)
    return torch.add(first, made)


@sparse("addmm", "_sparse_addmm")
def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    if not is_sparse(mat1) and not is_sparse(mat2):
        raise RuntimeError("addmm: a dense product is not added to a sparse tensor; use to_dense() first")
    _check("addmm", mat1, mat2)
    return _plus(self, beta, product(mat1, mat2), alpha)


@sparse("mv")
def mv(self: Tensor, vec: Tensor) -> Tensor:
    if self.shape[-1] != vec.shape[-1]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return product(self, vec.unsqueeze(1)).squeeze(1)


@sparse("addmv")
def addmv(self: Tensor, mat: Tensor, vec: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return _plus(self, beta, mv(mat, vec), alpha)


@sparse("bmm")
def bmm(self: Tensor, mat2: Tensor) -> Tensor:
    if self.dim() != 3 or mat2.dim() != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if self.dim() != 3 else "batch2 must be a 3D tensor")
    if is_sparse(mat2):
        if is_sparse(self):
            raise RuntimeError("bmm: Tensor 'mat2' must be dense")
        return bmm(transposed(mat2, 1, 2), self.transpose(1, 2)).transpose(1, 2)
    batch, rows, columns = self.shape
    for mine, theirs in ((0, 0), (2, 1)):
        if self.shape[mine] != mat2.shape[theirs]:
            raise RuntimeError(f"bmm_sparse: 'self.size({mine})' and 'mat2.size({theirs})' must match")
    indices, values, is_coalesced = coo_parts(coo_of(self))
    # The batch as one matrix, whose blocks lie on the diagonal.
    along = torch.stack([indices[0] * rows + indices[1], indices[0] * columns + indices[2]])
    whole = make_coo(along, values, (batch * rows, batch * columns), is_coalesced)
    return product(whole, mat2.reshape(batch * columns, mat2.shape[2])).reshape(batch, rows, mat2.shape[2])


@sparse("hspmm")
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    if layout_of(mat1) != COO:
        raise refuse("hspmm", "", [mat1])
    _check("hspmm", mat1, mat2)
    indices, values, _ = coalesced_parts(mat1)
    rows, at = torch.unique_consecutive(indices[0], return_inverse=True)
    counts = _functions._row_offsets(at, rows.shape[0])
    made = _functions._segment_sum(mat2, counts, indices[1], values)
    return make_coo(rows.unsqueeze(0), made, (mat1.shape[0], mat2.shape[1]), True)


@sparse("sspaddmm")
def sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    if layout_of(self) != COO or layout_of(mat1) != COO:
        raise refuse("sspaddmm", "", [self, mat1])
    _check("sspaddmm", mat1, mat2)
    indices, values, _ = coalesced_parts(mat1)
    width = mat2.shape[1]
    # A row of the product is dense, and is kept whole: every place of a row that has an element.
    rows, at = torch.unique_consecutive(indices[0], return_inverse=True)
    made = _functions._segment_sum(mat2, _functions._row_offsets(at, rows.shape[0]), indices[1], values)
    places = torch.stack([
        rows.repeat_interleave(width), torch.arange(width, device=rows.device).repeat(rows.shape[0])
    ])  # fmt: skip
    product = make_coo(places, made.reshape(-1), (mat1.shape[0], width), True)
    first = coo_parts(self * beta if beta != 1 else self)
    scaled = coo_parts(product * alpha if alpha != 1 else product)
    return make_coo(
        torch.cat([first.indices, scaled.indices], 1), torch.cat([first.values, scaled.values]), self.shape
    )


@sparse("smm")
def smm(self: Tensor, mat2: Tensor) -> Tensor:
    """A sparse product with a dense matrix, of which whole rows are kept."""
    if layout_of(self) == "strided":
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    if layout_of(self) != COO:
        raise refuse("smm", "", [self])
    _check("smm", self, mat2)
    return sspaddmm(empty_coo((self.shape[0], mat2.shape[1]), 2, self.dtype, self.device), self, mat2)


@sparse("sparse_sampled_addmm")
def sampled_addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    if layout_of(self) == COO:
        raise refuse("sparse_sampled_addmm", "", [self])
    if layout_of(self) != CSR:
        raise RuntimeError(
            f"sampled_addmm: Expected result to have sparse csr layout, but got {TITLES[layout_of(self)]}"
        )
    if mat1.shape[-1] != mat2.shape[-2]:
        raise RuntimeError(
            f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({mat1.shape[-2]}x{mat1.shape[-1]} and "
            f"{mat2.shape[-2]}x{mat2.shape[-1]})"
        )
    if tuple(self.shape[-2:]) != (mat1.shape[-2], mat2.shape[-1]):
        raise RuntimeError("sampled_addmm: self.shape[-2] must match mat1.shape[-2]"
                           if self.shape[-2] != mat1.shape[-2]
                           else "sampled_addmm: self.shape[-1] must match mat2.shape[-1]")  # fmt: skip
    parts = compressed_parts(self)
    if parts.batch:
        return add(self * beta, sparse_mask(torch.matmul(mat1, mat2) * alpha, self))
    row, column = matrix_indices(parts)
    made = _functions._sampled_products(mat1, mat2.t(), row, column)
    return with_values(self, parts.values * beta + made * alpha if beta != 0 else made * alpha)


@sparse("_sparse_mm_backward")
def mm_backward(grad_output: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor:
    """The gradient of a sparse factor, where it has elements."""
    layout = layout_of(mat1)
    if not is_sparse(mat1):
        return torch.mm(dense_of(grad_output), dense_of(mat2).t().conj())
    if layout not in (COO, CSR):
        raise RuntimeError(
            "sparse_addmm_sparse_backward: unsupported combination of layouts, grad: "
            f"{TITLES[layout_of(grad_output)]}, mat1: {TITLES[layout]}, mat2: {TITLES[layout_of(mat2)]}"
        )
    grad, other = dense_of(grad_output), dense_of(mat2)
    other = other.conj_physical() if other.is_complex() else other
    if layout == COO:
        indices, _, is_coalesced = coo_parts(mat1)
        made = _functions._sampled_products(grad, other, indices[0], indices[1])
        return make_coo(indices, made, mat1.shape, is_coalesced)
    row, column = matrix_indices(compressed_parts(mat1))
    return with_values(mat1, _functions._sampled_products(grad, other, row, column))


_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def product_reduced(mat1: Tensor, mat2: Tensor, reduce: str) -> Tensor:
    """What is made of a row's products instead of their sum, of operators that have a gradient."""
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if layout_of(mat1) != CSR:
        raise refuse("_sparse_mm_reduce_impl", "", [mat1])
    if reduce == "prod":
        raise RuntimeError("torch.sparse.mm: reduce type prod is not supported; use sum, mean, amax or amin")
    _check("mm", mat1, mat2)
    parts = compressed_parts(mat1)
    row = matrix_indices(parts)[0].to(torch.int64)
    products = mat1.values().unsqueeze(1) * mat2.index_select(0, parts.plain.to(torch.int64))
    start = torch.zeros((mat1.shape[0], mat2.shape[1]), dtype=products.dtype, device=products.device)
    if reduce == "sum":
        return start.index_add(0, row, products)
    return start.index_reduce(0, row, products, reduce, include_self=False)
