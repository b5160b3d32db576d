"""The functions by which programs make sparse tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch

from .. import _C
from .._C import Tensor, _functions
from .._types import formats
from . import invariants
from .parts import BLOCKS, BSC, BSR, BY_ROWS, COMPRESSED, CSC, CSR, TITLES, empty_coo

_LAYOUTS = {name: getattr(formats, name) for name in COMPRESSED}


def _tensor(data: Any, dtype: _C.dtype | None, device: Any) -> Tensor:
    """Data as a tensor; one that is a tensor already keeps its history."""
    if not isinstance(data, Tensor):
        return torch.tensor(data, dtype=dtype, device=device)
    same_dtype = dtype is None or data.dtype == dtype
    if same_dtype and (device is None or data.device == torch.device(device)):
        return data
    return data.to(dtype=dtype or data.dtype, device=device or data.device)


def _finished(made: Tensor, pin_memory: bool, requires_grad: bool) -> Tensor:
    if pin_memory:
        raise RuntimeError("sparse tensors are not made in pinned memory; pin their indices and values")
    if requires_grad and not (made.is_floating_point() or made.is_complex()):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_(True) if requires_grad else made


def _is_size(value: Any) -> bool:
    return isinstance(value, (tuple, list, torch.Size)) and all(isinstance(length, int) for length in value)


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: _C.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A tensor whose values lie at the places that indices name, of shape (sparse dimensions, elements).

    Of a size alone, a tensor without elements.
    """
    if values is None and _is_size(indices):
        dtype = torch.get_default_dtype() if dtype is None else dtype
        place = torch.get_default_device() if device is None else device
        return _finished(empty_coo(indices, len(indices), dtype, place), pin_memory, requires_grad)
    if values is None:
        raise TypeError("sparse_coo_tensor(): wanted a size, or indices and values")
    made_values = _tensor(values, dtype, device)
    at = _tensor(indices, torch.int64, made_values.device)
    if at.dim() == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if at.dim() == 1:
        at = at.unsqueeze(1)
    if at.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(at.shape)}")
    if made_values.dim() == 0:
        made_values = made_values.unsqueeze(0)
    at_count, count = at.shape[1], made_values.shape[0]
    if size is None:
        size = invariants.smallest_size(at, made_values)
    size = list(size)
    depth = at.shape[0]
    if len(size) == depth + made_values.dim() - 1 and at_count != count:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {at_count}, nnz from values: {count}"
        )
    if invariants.wanted(check_invariants):
        invariants.check_coordinates(at, made_values, size, is_coalesced)
    else:
        invariants.check_shapes(at, made_values, size)
    made = _functions._sparse_coo_tensor_with_dims_and_tensors(
        depth, made_values.dim() - 1, size, at, made_values, is_coalesced=is_coalesced
    )
    return _finished(made, pin_memory, requires_grad)


def _smallest_compressed(compressed: Tensor, plain: Tensor, values: Tensor, layout: str) -> list[int]:
    batch = compressed.dim() - 1
    block = list(values.shape[batch + 1 : batch + 3]) if layout in BLOCKS else [1, 1]
    dense = list(values.shape[batch + (3 if layout in BLOCKS else 1) :])
    major = compressed.shape[-1] - 1
    minor = int(plain.max()) + 1 if plain.numel() else 0
    grid = [major, minor] if layout in BY_ROWS else [minor, major]
    return [*compressed.shape[:-1], grid[0] * block[0], grid[1] * block[1], *dense]


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: _C.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A tensor of one of the compressed layouts, from where its rows (columns) begin and what lies in them."""
    name = "none" if layout is None else repr(layout).removeprefix("torch.")
    if name not in COMPRESSED:
        raise RuntimeError(
            f"sparse_compressed_tensor expected sparse compressed tensor layout but got {TITLES.get(name, name)}"
        )
    made_values = _tensor(values, dtype, device)
    compressed = _tensor(compressed_indices, None, made_values.device)
    plain = _tensor(plain_indices, None, made_values.device)
    if size is None:
        size = _smallest_compressed(compressed, plain, made_values, name)
    if invariants.wanted(check_invariants):
        invariants.check_compressed(compressed, plain, made_values, list(size), name)
    made = _functions._sparse_compressed_tensor(compressed, plain, made_values, list(size), name)
    return _finished(made, pin_memory, requires_grad)


def _of_layout(name: str, first: str, second: str) -> Callable[..., Tensor]:
    own = _LAYOUTS[name]

    def function(*arguments: Any, layout: Any = None, **options: Any) -> Tensor:
        if layout is not None and layout is not own:
            raise RuntimeError(
                f"{name}_tensor: layout must be {TITLES[name]} but got "
                f"{TITLES[repr(layout).removeprefix('torch.')]}"
            )
        renamed = {first: "compressed_indices", second: "plain_indices"}
        options = {renamed.get(key, key): value for key, value in options.items()}
        return sparse_compressed_tensor(*arguments, layout=own, **options)

    function.__name__ = function.__qualname__ = f"{name}_tensor"
    function.__doc__ = f"A tensor of the layout torch.{name}: ({first}, {second}, values, size=None, ...)."
    return function


sparse_csr_tensor = _of_layout(CSR, "crow_indices", "col_indices")
sparse_csc_tensor = _of_layout(CSC, "ccol_indices", "row_indices")
sparse_bsr_tensor = _of_layout(BSR, "crow_indices", "col_indices")
sparse_bsc_tensor = _of_layout(BSC, "ccol_indices", "row_indices")


def without_elements(size: Sequence[int], layout: str, dtype: _C.dtype | None, device: Any) -> Tensor:
    """What torch.zeros and torch.empty give for a sparse layout."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    place = torch.get_default_device() if device is None else device
    if layout not in COMPRESSED:
        return empty_coo(size, len(size), dtype, place)
    if len(size) < 2 or layout in BLOCKS:
        raise RuntimeError(
            f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {list(size)}"
        )
    lines = size[-2] if layout in BY_ROWS else size[-1]
    batch = size[:-2]
    return sparse_compressed_tensor(
        torch.zeros((*batch, lines + 1), dtype=torch.int64, device=place),
        torch.empty((*batch, 0), dtype=torch.int64, device=place),
        torch.empty((*batch, 0), dtype=dtype, device=place),
        size, layout=_LAYOUTS[layout],
    )  # fmt: skip


def _validate_sparse_coo_tensor_args(
    indices: Tensor, values: Tensor, size: Sequence[int], is_coalesced: bool | None = None
) -> None:
    invariants.check_coordinates(indices, values, list(size), is_coalesced)


def _validate_sparse_compressed_tensor_args(
    compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: Sequence[int], layout: Any
) -> None:
    name = repr(layout).removeprefix("torch.")
    invariants.check_compressed(compressed_indices, plain_indices, values, list(size), name)


def _validator(layout: str) -> Callable[..., None]:
    def function(compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int]) -> None:
        invariants.check_compressed(compressed, plain, values, list(size), layout)

    function.__name__ = function.__qualname__ = f"_validate_{layout}_tensor_args"
    return function


_validate_sparse_csr_tensor_args = _validator(CSR)
_validate_sparse_csc_tensor_args = _validator(CSC)
_validate_sparse_bsr_tensor_args = _validator(BSR)
_validate_sparse_bsc_tensor_args = _validator(BSC)
