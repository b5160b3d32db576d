"""Functions of shapes that take any number of tensors, which no operator's schema can say."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .._C import Tensor, _functions
from .._types.size import Size

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "is_nonzero",
    "is_same_size",
    "meshgrid",
]


def _given(tensors: Sequence[Any]) -> list[Any]:
    """The tensors, also when they come as one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        return list(tensors[0])
    return list(tensors)


def at_least(tensor: Tensor, dims: int) -> Tensor:
    """With dimensions of size 1 put where numpy puts them."""
    if tensor.dim() >= dims:
        return tensor
    if dims == 3 and tensor.dim() == 2:
        return tensor.unsqueeze(2)
    if dims == 3 and tensor.dim() == 1:
        return tensor.unsqueeze(0).unsqueeze(2)
    return tensor.reshape([1] * (dims - tensor.dim()) + list(tensor.shape))


def _each_at_least(name: str, tensors: tuple[Any, ...], dims: int) -> Any:
    items = _given(tensors)
    if not all(isinstance(t, Tensor) for t in items):
        got = ", ".join(type(t).__name__ for t in tensors)
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({got}), but expected Tensors"
        )
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return at_least(tensors[0], dims)
    return tuple(at_least(t, dims) for t in items)


def atleast_1d(*tensors: Any) -> Any:
    """Each tensor with at least one dimension."""
    return _each_at_least("atleast_1d", tensors, 1)


def atleast_2d(*tensors: Any) -> Any:
    """Each tensor with at least two dimensions."""
    return _each_at_least("atleast_2d", tensors, 2)


def atleast_3d(*tensors: Any) -> Any:
    """Each tensor with at least three dimensions."""
    return _each_at_least("atleast_3d", tensors, 3)


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these shapes broadcast to."""
    result: list[int] = []
    for number, given in enumerate(shapes):
        shape = [given] if isinstance(given, int) else list(given)
        result = [1] * (len(shape) - len(result)) + result
        for i in range(-1, -len(shape) - 1, -1):
            size = shape[i]
            if size < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if size == 1 or size == result[i]:
                continue
            if result[i] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {size} at {i}! Mismatching argument at "
                    f"index {number} had {given}; but expected shape should be broadcastable to "
                    f"{result}"
                )
            result[i] = size
    return Size(result)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors as windows of one common shape."""
    items = _given(tensors)
    shape: list[int] = []
    for tensor in items:
        shape = [1] * (tensor.dim() - len(shape)) + shape
        for i in range(-1, -tensor.dim() - 1, -1):
            size = tensor.size(i)
            if size != 1 and shape[i] != 1 and size != shape[i]:
                raise RuntimeError(
                    f"The size of tensor a ({shape[i]}) must match the size of tensor b ({size}) at "
                    f"non-singleton dimension {len(shape) + i}"
                )
            if shape[i] == 1:
                shape[i] = size
    whole = Size(shape)
    return tuple(
        t if t.shape == whole else t.expand(whole) for t in items
    )  # PyTorch's own gives them back as well


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid: each 1-D tensor spread over the dimensions of the others."""
    items = _given(tensors)
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            stacklevel=2,
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if not items:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for tensor in items:
        if tensor.dim() > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor}"
            )
        if tensor.dtype != items[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if tensor.device != items[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    swapped = indexing == "xy" and len(items) >= 2
    if swapped:
        items[0], items[1] = items[1], items[0]
    shape = [t.numel() for t in items]
    grids = [
        t.reshape([-1 if i == j else 1 for j in range(len(items))]).expand(shape) for i, t in enumerate(items)
    ]
    if swapped:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of one element of each tensor, as rows."""
    items = _given(tensors)
    for tensor in items:
        if tensor.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor.shape)}")
    if len(items) == 1:
        only: Tensor = items[0]
        return only
    return _functions.stack([grid.reshape(-1) for grid in meshgrid(items, indexing="ij")], 1)


def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given ones on its diagonal."""
    items = _given(tensors)
    if not items:
        return _functions.empty(1, 0)
    for i, tensor in enumerate(items):
        if tensor.dim() > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
                f"Input {i} has {tensor.dim()} dimensions"
            )
        if tensor.device != items[0].device:
            raise RuntimeError(
                f"torch.block_diag: input tensors must all be on the same device. Input 0 is on device "
                f"{items[0].device} and input {i} is on device {tensor.device}."
            )
    blocks = [atleast_2d(t) for t in items]
    total, rows, at = sum(b.size(1) for b in blocks), [], 0
    for block in blocks:
        rows.append(_functions.constant_pad_nd(block, [at, total - at - block.size(1)]))
        at += block.size(1)
    return _functions.cat(rows, 0)


_COMPUTE_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """The p-norm distance of each row of `x1` to each row of `x2`, batch by batch. Euclidean ones of many points
    come of a matrix product unless `compute_mode` says otherwise."""
    if compute_mode not in _COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if x1.dim() > 2 or x2.dim() > 2:
        if min(x1.dim(), x2.dim()) >= 2:
            batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
            x1, x2 = x1.expand(*batch, *x1.shape[-2:]), x2.expand(*batch, *x2.shape[-2:])
    return _functions._cdist_forward(x1, x2, float(p), _COMPUTE_MODES.index(compute_mode))


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero."""
    return input.is_nonzero()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return input.is_same_size(other)
