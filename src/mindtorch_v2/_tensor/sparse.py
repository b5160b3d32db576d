"""Methods of Tensor that are about its layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _C
from .._C import Tensor, _functions
from .._sparse.parts import (
    BLOCKS,
    BSC,
    BSR,
    BY_ROWS,
    COMPRESSED,
    COO,
    CSC,
    CSR,
    TITLES,
    Compressed,
    become,
    compressed_parts,
    coo_parts,
    empty_coo,
    layout_of,
    make_coo,
    values_of,
)
from .._types import formats
from ._method import method

_LAYOUTS = {name: getattr(formats, name) for name in TITLES}

setattr(Tensor, "layout", property(lambda self: _LAYOUTS[layout_of(self)]))  # noqa: B010
setattr(Tensor, "is_sparse_csr", property(lambda self: layout_of(self) == CSR))  # noqa: B010


def _refuse(name: str, tensor: Tensor) -> NotImplementedError:
    kind = {"strided": "", COO: "Sparse"}.get(layout_of(tensor), "SparseCsr")
    backend = kind + tensor.device.type.upper()
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. It is for sparse tensors"
    )


def _coordinates(name: str, tensor: Tensor) -> None:
    if layout_of(tensor) != COO:
        raise RuntimeError(
            f"{name} expected sparse coordinate tensor layout but got {TITLES[layout_of(tensor)]}"
        )


# ---- parts -------------------------------------------------------------------------------------------


@method
def indices(self: Tensor) -> Tensor:
    _coordinates("indices", self)
    parts = coo_parts(self)
    if not parts.coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return parts.indices.view(parts.indices.shape)


@method
def _indices(self: Tensor) -> Tensor:
    if layout_of(self) != COO:
        raise _refuse("_indices", self)
    return coo_parts(self).indices.detach()


@method
def _values(self: Tensor) -> Tensor:
    if layout_of(self) != COO:
        raise _refuse("_values", self)
    return values_of(self).detach()


@method
def _nnz(self: Tensor) -> int:
    layout = layout_of(self)
    if layout == "strided":
        raise _refuse("_nnz", self)
    return coo_parts(self).values.shape[0] if layout == COO else compressed_parts(self).plain.shape[-1]


def _compressed_part(name: str, by_rows: bool, part: Callable[[Compressed], Tensor]) -> None:
    lines = "row" if by_rows else "column"

    def read(self: Tensor) -> Tensor:
        layout = layout_of(self)
        if layout not in COMPRESSED or (layout in BY_ROWS) != by_rows:
            raise RuntimeError(
                f"{name} expected sparse {lines} compressed tensor layout but got {TITLES[layout]}"
            )
        found = part(compressed_parts(self))
        return found.view(found.shape)

    read.__name__ = read.__qualname__ = name
    method(read)


_compressed_part("crow_indices", True, lambda parts: parts.compressed)
_compressed_part("col_indices", True, lambda parts: parts.plain)
_compressed_part("ccol_indices", False, lambda parts: parts.compressed)
_compressed_part("row_indices", False, lambda parts: parts.plain)


@method
def sparse_dim(self: Tensor) -> int:
    """The number of dimensions that are stored sparsely."""
    layout = layout_of(self)
    if layout == "strided":
        return 0
    return coo_parts(self).indices.shape[0] if layout == COO else 2


@method
def dense_dim(self: Tensor) -> int:
    """The number of dimensions that are stored densely."""
    layout = layout_of(self)
    if layout == "strided":
        return self.dim()
    return self.dim() - coo_parts(self).indices.shape[0] if layout == COO else compressed_parts(self).dense


@method
def _dimI(self: Tensor) -> int:
    """`sparse_dim`, of tensors in coordinates."""
    if layout_of(self) != COO:
        raise _refuse("_dimI", self)
    return self.sparse_dim()


@method
def _dimV(self: Tensor) -> int:
    """`dense_dim`, of tensors in coordinates."""
    if layout_of(self) != COO:
        raise _refuse("_dimV", self)
    return self.dense_dim()


@method
def is_coalesced(self: Tensor) -> bool:
    _coordinates("is_coalesced", self)
    return coo_parts(self).coalesced


@method
def coalesce(self: Tensor) -> Tensor:
    """The same values, in order of their places and with one for each."""
    _coordinates("coalesce", self)
    return self if coo_parts(self).coalesced else _functions._coalesce(self)


@method
def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    parts = coo_parts(self)
    _C._sparse.set_parts(self, list(self.shape), parts.indices, None, parts.values, coalesced)
    return self


# ---- conversions -------------------------------------------------------------------------------------


@method
def to_dense(self: Tensor, dtype: _C.dtype | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """The whole tensor; a dense one is itself."""
    if layout_of(self) == "strided":
        return self if dtype is None else self.to(dtype)
    if dtype is not None and dtype != self.dtype:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return _functions._to_dense(self, dtype, masked_grad)


_CONVERSIONS: dict[str, Callable[..., Tensor]] = {
    CSR: lambda self, block, dense: _functions._to_sparse_csr(self, dense),
    CSC: lambda self, block, dense: _functions._to_sparse_csc(self, dense),
    BSR: lambda self, block, dense: _functions._to_sparse_bsr(self, block, dense),
    BSC: lambda self, block, dense: _functions._to_sparse_bsc(self, block, dense),
}


@method
def to_sparse(
    self: Tensor,
    sparseDims: int | None = None,
    *,
    layout: Any = None,
    blocksize: Sequence[int] | None = None,
    dense_dim: int | None = None,
    sparse_dim: int | None = None,
) -> Tensor:
    """The tensor in coordinates, or in the layout that is given."""
    now = layout_of(self)
    name = COO if layout is None else repr(layout).removeprefix("torch.")
    depth = sparseDims if sparseDims is not None else sparse_dim
    source = "dense" if now == "strided" else "coo" if now == COO else "sparse_compressed"
    if depth is not None and layout is not None:
        raise TypeError("to_sparse() takes 0 positional arguments but 1 was given")
    if blocksize is not None and name not in BLOCKS:
        raise RuntimeError(
            f"{source}_to_sparse: conversion from {TITLES[now]} to {TITLES.get(name, name)} with blocksize argument "
            "given is not supported"
        )
    if name == "strided":
        return self.to_dense()
    if name == COO:
        if now == COO and depth is None:
            return self
        return _functions._to_sparse(self, sparse_dim=depth)
    if name not in COMPRESSED:
        raise RuntimeError(f"to_sparse: a tensor has no layout {name}")
    if name in BLOCKS and blocksize is None:
        raise RuntimeError(
            f"{source}_to_sparse: conversion from {TITLES[now]} to {TITLES[name]} without blocksize argument given is "
            "not supported"
        )
    return _converted(self, name, blocksize, dense_dim)


def _converted(
    tensor: Tensor, layout: str, block: int | Sequence[int] | None, dense_dim: int | None
) -> Tensor:
    if isinstance(block, int):
        block = (block, block)
    if layout_of(tensor) == layout and (block is None or compressed_parts(tensor).block == tuple(block)):
        return tensor
    return _CONVERSIONS[layout](tensor, block, dense_dim)


@method
def to_sparse_coo(self: Tensor) -> Tensor:
    return self.to_sparse()


@method
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    return _converted(self, CSR, None, dense_dim)


@method
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    return _converted(self, CSC, None, dense_dim)


@method
def to_sparse_bsr(self: Tensor, blocksize: int | Sequence[int], dense_dim: int | None = None) -> Tensor:
    return _converted(self, BSR, blocksize, dense_dim)


@method
def to_sparse_bsc(self: Tensor, blocksize: int | Sequence[int], dense_dim: int | None = None) -> Tensor:
    return _converted(self, BSC, blocksize, dense_dim)


# ---- sizes -------------------------------------------------------------------------------------------


@method
def sparse_resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Another size for the same elements, which must have room in it."""
    _coordinates("sparse_resize_", self)
    parts = coo_parts(self)
    depth, count = parts.indices.shape[0], parts.values.shape[0]
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
            f"{sparse_dim}, dense_dim = {dense_dim}"
        )
    if not count:
        return become(self, empty_coo(list(size), sparse_dim, self.dtype, self.device))
    what = None
    if sparse_dim != depth:
        what = f"changing the number of sparse dimensions (from {depth} to {sparse_dim})"
    elif dense_dim != self.dim() - depth:
        what = f"changing the number of dense dimensions (from {self.dim() - depth} to {dense_dim})"
    else:
        for kind, part in (("sparse", slice(None, depth)), ("dense", slice(depth, None))):
            old, new = list(self.shape[part]), list(size[part])
            if any(a > b for a, b in zip(old, new, strict=True)):
                what = f"shrinking the size of {kind} dimensions (from {old} to {new})"
                break
    if what is not None:
        raise RuntimeError(
            f"{what} on a non-empty sparse tensor is not supported.\nAn empty tensor of that size is "
            "torch.sparse_coo_tensor(size); sparse_resize_and_clear_ forgets the elements first"
        )
    values = parts.values
    if list(size[depth:]) != list(self.shape[depth:]):
        values = values.new_zeros((count, *size[depth:]))
        values[tuple(slice(0, length) for length in parts.values.shape)] = parts.values
    return become(self, make_coo(parts.indices, values, size, parts.coalesced))


@method
def sparse_resize_and_clear_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Another size, without elements."""
    _coordinates("sparse_resize_and_clear_", self)
    return become(self, empty_coo(list(size), sparse_dim, self.dtype, self.device))


@method
def resize_as_sparse_(self: Tensor, the_template: Tensor) -> Tensor:
    if layout_of(self) in COMPRESSED and self.shape == the_template.shape:
        return self
    return self.sparse_resize_(the_template.shape, the_template.sparse_dim(), the_template.dense_dim())
