"""Arithmetic: on values where zero stays zero, and between tensors of several layouts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor, _functions
from .conversions import coo_of, dense_of, matrix_indices, taken_at
from .copies import as_layout_of
from .parts import (
    BLOCKS,
    COMPRESSED,
    COO,
    coalesced,
    coalesced_parts,
    compressed_parts,
    coo_parts,
    is_sparse,
    keys_of,
    layout_of,
    make_coo,
    title_of,
    values_of,
    with_values,
)
from .table import each, refuse, sparse, unsupported, write_in_place

# Functions of one number that are zero at zero. The sum of several values at one place comes first.
_KEEP_ZERO = (
    "abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "floor", "frac", "isinf",
    "isnan", "isneginf", "isposinf", "log1p", "neg", "rad2deg", "relu", "round", "sgn", "sign", "signbit", "sin",
    "sinh", "sqrt", "tan", "tanh", "trunc", "_conj_physical", "square", "positive", "resolve_conj",
)  # fmt: skip
_OF_COMPRESSED = ("angle",)
_OF_COORDINATES = ("nan_to_num",)


def _unary(name: str, only: str | None = None) -> None:
    operator = getattr(_functions, name)

    def function(self: Tensor, *arguments: Any) -> Tensor:
        is_coo = layout_of(self) == COO
        if (only == "coo" and not is_coo) or (only == "compressed" and is_coo):
            raise refuse(name, "", [self])
        return each(coalesced(self) if is_coo else self, lambda values: operator(values, *arguments))

    sparse(name)(function)


for _name in _KEEP_ZERO:
    _unary(_name)
for _name in _OF_COMPRESSED:
    _unary(_name, "compressed")
for _name in _OF_COORDINATES:
    _unary(_name, "coo")


# ---- sums --------------------------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return not isinstance(value, Tensor)


def _check_sizes(name: str, a: Tensor, b: Tensor) -> None:
    if a.shape != b.shape:
        raise RuntimeError(
            f"{name}: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}"
        )


def _same_places(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and (a is b or (not a.is_meta and torch.equal(a, b)))


def sum_of_coo(a: Tensor, b: Tensor, alpha: Any) -> Tensor:
    _check_sizes("add", a, b)
    first, second = coo_parts(a), coo_parts(b)
    if first.indices.shape[0] != second.indices.shape[0]:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse dimensions, but got "
            f"{first.indices.shape[0]} and {second.indices.shape[0]}"
        )
    dtype = torch.result_type(first.values, second.values)
    scaled = second.values.to(dtype) if alpha == 1 else second.values.to(dtype) * alpha
    values = first.values.to(dtype)
    both = first.coalesced and second.coalesced
    if _same_places(first.indices, second.indices):
        return make_coo(first.indices, values + scaled, a.shape, both)
    made = make_coo(torch.cat([first.indices, second.indices], 1), torch.cat([values, scaled]), a.shape)
    return coalesced(made) if both else made


def _sum_of_compressed(a: Tensor, b: Tensor, alpha: Any) -> Tensor:
    first, second = compressed_parts(a), compressed_parts(b)
    if layout_of(a) != layout_of(b):
        raise RuntimeError(f"add(sparse_csr, sparse_csr): the layouts differ: {a.layout} and {b.layout}")
    _check_sizes("add", a, b)
    if _same_places(first.compressed, second.compressed) and _same_places(first.plain, second.plain):
        return with_values(a, torch.add(first.values, second.values, alpha=alpha))
    return as_layout_of(sum_of_coo(coalesced(coo_of(a)), coalesced(coo_of(b)), alpha), a)


def add_into_dense(dense: Tensor, other: Tensor, alpha: Any) -> Tensor:
    """In place."""
    if layout_of(other) != COO:
        return dense.add_(dense_of(other), alpha=alpha)
    indices, values, _ = coo_parts(other)
    if values.dtype != dense.dtype:
        values = values.to(dense.dtype)
    if dense.shape != other.shape:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but self has size "
            f"{list(dense.shape)} while other has size {list(other.shape)} (FYI: dense-sparse addition does not "
            "currently support broadcasting)"
        )
    depth = indices.shape[0]
    if depth == 1:
        dense.index_add_(0, indices[0], values, alpha=alpha)
    elif depth and dense.is_contiguous():
        flat = dense.view(math.prod(dense.shape[:depth]), *dense.shape[depth:])
        flat.index_add_(0, keys_of(indices, dense.shape), values, alpha=alpha)
    else:
        dense.add_(dense_of(other), alpha=alpha)
    return dense


@sparse("add.Tensor")
def add(self: Tensor, other: Tensor, alpha: Any = 1) -> Tensor:
    mine, theirs = layout_of(self), layout_of(other)
    if mine == COO and theirs == "strided":
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if mine == "strided":
        dtype = torch.result_type(self, values_of(other))
        return add_into_dense(self.to(dtype) if self.dtype != dtype else self.clone(), other, alpha)
    if theirs == "strided":
        return torch.add(dense_of(self), other, alpha=alpha)
    if mine == COO and theirs == COO:
        return sum_of_coo(self, other, alpha)
    if COO in (mine, theirs):
        raise RuntimeError(
            f"add: expected both operands to have one layout, got {self.layout} and {other.layout}"
        )
    return _sum_of_compressed(self, other, alpha)


@sparse("add.Scalar", "sub.Scalar", "rsub.Scalar", "add_.Scalar", "sub_.Scalar")
def add_number(self: Tensor, other: Any, alpha: Any = 1) -> Tensor:
    if layout_of(self) != COO:
        raise unsupported(self)
    raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")


@sparse("add_.Tensor")
def add_(self: Tensor, other: Tensor, alpha: Any = 1) -> Tensor:
    if layout_of(self) != "strided":
        return write_in_place(self, add(self, other, alpha))
    dtype = torch.result_type(self, values_of(other))
    if not torch.can_cast(dtype, self.dtype):
        raise RuntimeError(
            f"Can't convert result type {title_of(dtype)} to output {title_of(self.dtype)} in add operation"
        )
    return add_into_dense(self, other, alpha)


@sparse("sub.Tensor")
def sub(self: Tensor, other: Tensor, alpha: Any = 1) -> Tensor:
    if layout_of(self) in COMPRESSED and is_sparse(other):
        raise unsupported(self)
    return add(self, other, -alpha)


@sparse("sub_.Tensor")
def sub_(self: Tensor, other: Tensor, alpha: Any = 1) -> Tensor:
    return add_(self, other, -alpha)


# ---- products ----------------------------------------------------------------------------------------


def _one_number(tensor: Any) -> Any:
    """The value of a dense tensor without dimensions, as a dense tensor."""
    return tensor if _is_number(tensor) or not is_sparse(tensor) else dense_of(tensor)


def _scaled(tensor: Tensor, function: Callable[[Tensor, Any], Tensor], number: Any) -> Tensor:
    return each(tensor, lambda values: function(values, number))


def _common_places(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Indices that both have, and the values there."""
    first, second = coalesced_parts(a), coalesced_parts(b)
    known, keys = keys_of(second.indices, b.shape), keys_of(first.indices, a.shape)
    count = known.shape[0]
    if count == 0 or keys.shape[0] == 0:
        return first.indices[:, :0], first.values[:0], second.values[:0]
    at = torch.searchsorted(known, keys).clamp_(max=count - 1)
    mine = (known.index_select(0, at) == keys).nonzero()[:, 0]
    theirs = at.index_select(0, mine)
    return (
        first.indices.index_select(1, mine), first.values.index_select(0, mine), second.values.index_select(0, theirs)
    )  # fmt: skip


def _product_of_coo(a: Tensor, b: Tensor) -> Tensor:
    if a.shape != b.shape:
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse "
            "dimensions, and shape of sparse dimensions"
        )
    first, second = coo_parts(a), coo_parts(b)
    if first.coalesced and second.coalesced and _same_places(first.indices, second.indices):
        return make_coo(first.indices, first.values * second.values, a.shape, True)
    indices, mine, theirs = _common_places(a, b)
    return make_coo(indices, mine * theirs, a.shape, True)


def _product_with_dense(tensor: Tensor, dense: Tensor) -> Tensor:
    shapes = torch.empty(dense.shape, device="meta"), torch.empty(tensor.shape, device="meta")
    size = torch.broadcast_tensors(*shapes)[0].shape  # in the words of every product
    if size != tensor.shape:
        raise RuntimeError(
            f"mul: a sparse tensor of size {list(tensor.shape)} cannot be expanded to {list(size)}"
        )
    whole = dense.expand(tensor.shape)
    if layout_of(tensor) == COO:
        indices, values, flag = coo_parts(tensor)
        return make_coo(indices, values * taken_at(whole, indices), tensor.shape, flag)
    parts = compressed_parts(tensor)
    if parts.batch or parts.dense or parts.layout in BLOCKS:
        return as_layout_of(coo_of(tensor) * whole, tensor)
    row, column = matrix_indices(parts)
    return with_values(tensor, parts.values * whole[row, column])


@sparse("mul.Tensor")
def mul(self: Tensor, other: Tensor) -> Tensor:
    if not is_sparse(self):
        self, other = other, self
    if not is_sparse(other):
        if other.dim() == 0:
            return _scaled(self, torch.mul, other)
        return _product_with_dense(self, other)
    if self.dim() == 0 or other.dim() == 0:
        whole, number = (other, self) if self.dim() == 0 else (self, other)
        return _scaled(whole, torch.mul, dense_of(number))
    mine, theirs = layout_of(self), layout_of(other)
    if mine == COO and theirs == COO:
        return _product_of_coo(self, other)
    if mine == theirs and mine in COMPRESSED:
        return as_layout_of(_product_of_coo(coo_of(self), coo_of(other)), self)
    return as_layout_of(_product_of_coo(coo_of(self), coo_of(other)), self)


@sparse("mul.Scalar")
def mul_number(self: Tensor, other: Any) -> Tensor:
    return _scaled(self, torch.mul, other)


@sparse("div.Tensor")
def div(self: Tensor, other: Tensor) -> Tensor:
    return _divided(self, other, None)


@sparse("_div_floor")
def div_floor(self: Tensor, other: Any) -> Tensor:
    return _divided(self, other, "floor")


@sparse("_div_trunc")
def div_trunc(self: Tensor, other: Any) -> Tensor:
    return _divided(self, other, "trunc")


@sparse("div.Tensor_mode")
def div_mode(self: Tensor, other: Tensor, rounding_mode: str | None) -> Tensor:
    return _divided(self, other, rounding_mode)


@sparse("floor_divide")
def floor_divide(self: Tensor, other: Any) -> Tensor:
    return _divided(self, other, "floor")


def _divided(self: Tensor, other: Any, mode: str | None) -> Tensor:
    if layout_of(self) in COMPRESSED:
        raise unsupported(self)
    if not _is_number(other):
        if is_sparse(other):
            if other.dim() == 0 and is_sparse(self):
                other = dense_of(other)
            else:
                raise RuntimeError(
                    "Sparse division requires a scalar or zero-dim dense tensor divisor "
                    f"(got shape {list(other.shape)} for divisor)"
                )
        if other.dim() != 0:
            raise RuntimeError(
                "Sparse division requires a scalar or zero-dim dense tensor divisor "
                f"(got shape {list(other.shape)} for divisor)"
            )
    source = self
    if mode is not None and layout_of(self) == COO:
        source = coalesced(self)
    return each(source, lambda values: torch.div(values, other, rounding_mode=mode))


@sparse("div.Scalar")
def div_number(self: Tensor, other: Any) -> Tensor:
    return _divided(self, other, None)


@sparse("div.Scalar_mode")
def div_number_mode(self: Tensor, other: Any, rounding_mode: str | None) -> Tensor:
    return _divided(self, other, rounding_mode)


@sparse("pow.Tensor_Scalar")
def power(self: Tensor, exponent: Any) -> Tensor:
    if layout_of(self) != COO:
        raise unsupported(self)
    if exponent == 0:
        raise RuntimeError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense"
        )
    return each(coalesced(self), lambda values: torch.pow(values, exponent))


@sparse("threshold_backward")
def threshold_backward(grad_output: Tensor, self: Tensor, threshold: Any) -> Tensor:
    if not is_sparse(self) or not is_sparse(grad_output):
        raise RuntimeError("values expected sparse tensor layout but got Strided")
    grad = grad_output if layout_of(self) != COO else coalesced(grad_output)
    mine = self if layout_of(self) != COO else coalesced(self)
    return with_values(mine, torch.where(values_of(mine) > threshold, values_of(grad), 0))


@sparse("view_as_real", "view_as_complex")
def reals(self: Tensor) -> Tensor:
    indices, values, flag = coo_parts(self)
    made = torch.view_as_real(values) if values.is_complex() else torch.view_as_complex(values)
    depth = indices.shape[0]
    return make_coo(indices, made, (*self.shape[:depth], *made.shape[1:]), flag)


@sparse("real")
def real(self: Tensor) -> Tensor:
    return each(self, torch.real)


@sparse("imag")
def imag(self: Tensor) -> Tensor:
    return each(self, torch.imag)
