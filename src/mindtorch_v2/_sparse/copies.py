"""Copies, casts, and what is made like another tensor."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .. import _C
from .._C import Tensor
from .conversions import dense_of, to_layout
from .creation import without_elements
from .parts import (
    COO,
    TITLES,
    all_parts,
    become,
    compressed_parts,
    coo_parts,
    empty_coo,
    is_sparse,
    layout_of,
    make_compressed,
    values_of,
)
from .table import refuse, sparse


def parts_through(tensor: Tensor, change: Any, values: Any = None) -> Tensor:
    """A tensor whose parts are those of another one, each changed; its values in another way if one is given."""
    layout, indices, plain, own, coalesced = all_parts(tensor)
    return _C._sparse.make(
        layout, list(tensor.shape), change(indices), None if plain is None else change(plain),
        (values or change)(own), coalesced,
    )  # fmt: skip


@sparse("clone")
def clone(self: Tensor, memory_format: Any) -> Tensor:
    return parts_through(self, lambda part: part.clone())


@sparse("detach", "alias")
def detach(self: Tensor) -> Tensor:
    return parts_through(self, lambda part: part)


@sparse("_to_copy")
def to_copy(
    self: Tensor, dtype: _C.dtype | None, device: Any, non_blocking: bool, memory_format: Any
) -> Tensor:
    device = self.device if device is None else device
    return parts_through(
        self,
        lambda part: part.to(device=device, non_blocking=non_blocking, copy=True),
        lambda part: part.to(device=device, dtype=dtype or self.dtype, non_blocking=non_blocking, copy=True),
    )


def _different(self: Tensor, src: Tensor) -> RuntimeError:
    return RuntimeError(
        f"copy_() between dense and sparse Tensors is not implemented! Found self type = {self.type()} and src type = "
        f"{src.type()}"
    )


@sparse("copy_")
def copy_(self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    mine, other = layout_of(self), layout_of(src)
    if mine == "strided":
        raise _different(self, src)
    if other != mine and (COO in (mine, other) or other == "strided"):
        raise _different(self, src)
    if other != mine:
        raise RuntimeError(f"torch.copy_: copy of sparse compressed tensors having different layouts is not "
                           f"supported. self layout is {TITLES[mine]} and src layout is {TITLES[other]}")  # fmt: skip
    if mine != COO:
        here, there = compressed_parts(self), compressed_parts(src)
        if here.plain.shape[-1] != there.plain.shape[-1]:
            raise RuntimeError("torch.copy_: only sparse compressed tensors with the same number of specified "
                               "elements are supported.")  # fmt: skip
    return become(self, to_copy(src, self.dtype, self.device, non_blocking, None))


@sparse("zero_")
def zero_(self: Tensor) -> Tensor:
    if layout_of(self) == COO:
        parts = coo_parts(self)
        return become(self, empty_coo(self.shape, parts.indices.shape[0], self.dtype, self.device))
    return become(self, _empty_like(self, self.dtype, self.device))


def _empty_like(self: Tensor, dtype: _C.dtype, device: Any) -> Tensor:
    if layout_of(self) == COO:
        return empty_coo(self.shape, coo_parts(self).indices.shape[0], dtype, device)
    parts = compressed_parts(self)
    compressed = torch.zeros_like(parts.compressed, device=device)
    plain = parts.plain.narrow(-1, 0, 0).to(device)
    values = parts.values.narrow(parts.batch, 0, 0).to(device=device, dtype=dtype)
    return make_compressed(parts.layout, compressed, plain, values, self.shape)


@sparse("zeros_like")
def zeros_like(self: Tensor, *options: Any) -> Tensor:
    dtype, device = _options(self, options)
    return _empty_like(self, dtype, device)


@sparse("empty_like")
def empty_like(self: Tensor, *options: Any) -> Tensor:
    dtype, device = _options(self, options)
    if layout_of(self) == COO:
        return _empty_like(self, dtype, device)
    return parts_through(
        self,
        lambda part: part.to(device, copy=True),
        lambda part: torch.empty_like(part, dtype=dtype, device=device),
    )


def _options(self: Tensor, options: tuple[Any, ...]) -> tuple[_C.dtype, Any]:
    """The dtype and the device of a factory's options, which are behind its own arguments."""
    for value in options:
        if isinstance(value, torch.memory_format):
            name = repr(value).removeprefix("torch.").removesuffix("_format").title().replace("_", "")
            raise RuntimeError(
                "memory format option is only supported by strided tensors"
                if layout_of(self) == COO
                else f"unsupported memory format {name}"
            )
    dtype = next((value for value in options if isinstance(value, _C.dtype)), self.dtype)
    device = next((value for value in options if isinstance(value, torch.device)), self.device)
    return dtype, device


@sparse("ones_like")
def ones_like(self: Tensor, *options: Any) -> Tensor:
    if layout_of(self) == COO:
        raise refuse("fill_", "Scalar", [self])
    return parts_through(self, lambda part: part, torch.ones_like)


@sparse("full_like")
def full_like(self: Tensor, fill_value: Any, *options: Any) -> Tensor:
    if layout_of(self) == COO:
        raise RuntimeError("full(...) is not implemented for sparse layout")
    dtype, device = _options(self, options)
    return parts_through(
        self, lambda part: part.to(device, copy=True),
        lambda part: torch.full_like(part, fill_value, dtype=dtype, device=device),
    )  # fmt: skip


@sparse("randn_like")
def randn_like(self: Tensor, *options: Any) -> Tensor:
    return normal_(empty_like(self, *options))


@sparse("normal_")
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    if layout_of(self) == COO:
        raise refuse("normal_", "", [self])
    values_of(self).normal_(mean, std, generator=generator)
    return self


@sparse("fill_.Scalar")
def fill_(self: Tensor, value: Any) -> Tensor:
    if layout_of(self) == COO:
        raise refuse("fill_", "Scalar", [self])
    values_of(self).fill_(value)
    return self


@sparse("new_zeros", "new_empty")
def new_zeros(self: Tensor, size: Any, *options: Any) -> Tensor:
    dtype, device = _options(self, options)
    return without_elements(size, layout_of(self), dtype, device)


def as_layout_of(tensor: Tensor, other: Tensor) -> Tensor:
    block = compressed_parts(other).block if layout_of(other) in ("sparse_bsr", "sparse_bsc") else ()
    return to_layout(tensor, layout_of(other), block) if is_sparse(other) else dense_of(tensor)
