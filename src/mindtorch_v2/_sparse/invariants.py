"""What the parts of a sparse tensor must be, in PyTorch's words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mindtorch_v2 as torch

from .._C import Tensor
from .parts import BLOCKS, BY_ROWS, keys_of, title_of

_checks_everywhere = False


def enabled() -> bool:
    """Whether tensors are checked although nobody asks for it."""
    return _checks_everywhere


def enable(on: bool) -> None:
    global _checks_everywhere
    _checks_everywhere = on


def wanted(check_invariants: bool | None) -> bool:
    return _checks_everywhere if check_invariants is None else check_invariants


def _require(holds: bool, *message: object) -> None:
    if not holds:
        raise RuntimeError("".join(map(str, message)))


# ---- coordinates -------------------------------------------------------------------------------------


def check_shapes(indices: Tensor, values: Tensor, size: Sequence[int]) -> None:
    """What every tensor in coordinates is checked for."""
    depth, width = indices.shape[0], values.dim() - 1
    _require(
        len(size) == depth + width,
        f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {depth}, "
        f"dense_dim = {width}",
    )
    wanted_values = [values.shape[0], *size[depth:]]
    _require(
        list(values.shape) == wanted_values,
        f"values has incorrect size, expected {wanted_values}, got {list(values.shape)}",
    )


def smallest_size(indices: Tensor, values: Tensor) -> list[int]:
    """The size that has room for all indices."""
    rest = list(values.shape[1:])
    if indices.shape[1] == 0:
        return [0] * indices.shape[0] + rest
    _check_not_negative(indices)
    return [int(last) + 1 for last in indices.amax(1).tolist()] + rest


def _check_not_negative(indices: Tensor) -> None:
    for dim, lowest in enumerate(indices.amin(1).tolist() if indices.shape[0] else ()):
        _require(lowest >= 0, f"found negative index {lowest} for dim {dim}")


def check_coordinates(
    indices: Tensor, values: Tensor, size: Sequence[int], is_coalesced: bool | None = None
) -> None:
    """All that there is to check."""
    check_shapes(indices, values, size)
    if indices.is_meta or indices.shape[1] == 0:
        return
    _check_not_negative(indices)
    for dim, last in enumerate(indices.amax(1).tolist() if indices.shape[0] else ()):
        _require(
            last < size[dim],
            f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found index {last}",
        )
    if is_coalesced:
        keys = keys_of(indices, size)
        _require(
            bool((keys[1:] > keys[:-1]).all()),
            "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor",
        )


# ---- compressed --------------------------------------------------------------------------------------


def check_compressed(
    compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int], layout: str
) -> None:
    rows = layout in BY_ROWS
    first, second = ("crow_indices", "col_indices") if rows else ("ccol_indices", "row_indices")
    lines, others = ("rows", "ncols") if rows else ("columns", "nrows")
    count_name = "nrows" if rows else "ncols"
    blocks = 2 if layout in BLOCKS else 0
    _require(compressed.dim() >= 1, f"{first} must have dimensionality >= 1 but got {compressed.dim()}")
    _require(
        compressed.dim() == plain.dim(),
        f"{first} and {second} dimensionalities must be equal but got {compressed.dim()} and {plain.dim()}, "
        "respectively",
    )
    batch = compressed.dim() - 1
    _require(
        values.dim() > batch + blocks,
        f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + {blocks}) but got "
        f"{values.dim()}",
    )
    dense = values.dim() - batch - blocks - 1
    _require(
        len(size) == batch + 2 + dense,
        f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + 2 + {dense}) but "
        f"got {len(size)}",
    )
    block = list(values.shape[batch + 1 : batch + 3]) if blocks else [1, 1]
    for i in (0, 1):
        _require(
            block[i] > 0 and size[batch + i] % block[i] == 0,
            f"tensor shape[{batch + i}] (={size[batch + i]}) must be divisible with blocksize[{i}] (={block[i]}) as "
            "defined by values shape",
        )
    grid = [size[batch] // block[0], size[batch + 1] // block[1]]
    major, minor = grid if rows else grid[::-1]
    _require(
        compressed.shape[-1] == major + 1,
        f"{first}.shape[-1] must be equal to the number of {lines} + 1 (={major + 1}), but got {compressed.shape[-1]}",
    )
    nnz = values.shape[batch]
    _require(
        plain.shape[-1] == nnz,
        f"{second}.shape[-1] must be equal to nnz (={nnz}) as defined by values.shape[{batch}], but got "
        f"{plain.shape[-1]}",
    )
    _require(
        compressed.dtype == plain.dtype,
        f"{first} and {second} must have the same dtype, bot got {title_of(compressed.dtype)} and "
        f"{title_of(plain.dtype)}, respectively",
    )
    _require(
        compressed.dtype in (torch.int32, torch.int64),
        f"{first} and {second} dtype must be Int or Long, but got {title_of(compressed.dtype)}",
    )
    if compressed.is_meta:
        return
    _require(bool((compressed[..., 0] == 0).all()), f"`{first}[..., 0] == 0` is not satisfied.")
    _require(bool((compressed[..., -1] == nnz).all()), f"`{first}[..., -1] == nnz` is not satisfied.")
    lengths = compressed[..., 1:] - compressed[..., :-1]
    _require(
        bool(((lengths >= 0) & (lengths <= minor)).all()),
        f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= {others}` is not satisfied.",
    )
    _require(bool(((plain >= 0) & (plain < minor)).all()), f"`0 <= {second} < {others}` is not satisfied.")
    if nnz > 1:
        flat = compressed.reshape(math.prod(compressed.shape[:-1]), major + 1)
        begins = torch.zeros((flat.shape[0], nnz + 1), dtype=torch.bool, device=plain.device)
        begins.scatter_(1, flat.to(torch.int64), True)
        rising = plain.reshape(-1, nnz)[:, 1:] > plain.reshape(-1, nnz)[:, :-1]
        _require(
            bool((rising | begins[:, 1:nnz]).all()),
            f"`{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., {count_name} are sorted and "
            "distinct along the last dimension values` is not satisfied.",
        )
