"""Indexing in terms of other operators."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor
from mindtorch_v2._C import _functions as _native

from .._types.size import from_front


def nonzero(self: Tensor, as_tuple: bool) -> Tensor | tuple[Tensor, ...]:
    return tuple(torch.where(self)) if as_tuple else torch.nonzero(self)


def count_nonzero(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    return (self != 0).sum(dim, dtype=torch.int64)


def masked_index(self: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: complex) -> Tensor:
    """self[indices] where the mask is true, else `fill`; indices under a false mask may lie outside."""
    if self.numel() == 0:
        return _native._unsafe_index(self, indices).masked_fill(~mask, fill)
    inside = [
        None if i is None else i.clamp(-self.shape[d], self.shape[d] - 1) for d, i in enumerate(indices)
    ]
    return _native._unsafe_index(self, inside).masked_fill(~mask, fill)


def masked_index_put_accumulate(
    self: Tensor, mask: Tensor, indices: Sequence[Tensor | None], values: Tensor
) -> Tensor:
    """Adds the values whose mask is true to self[indices]."""
    if self.numel() == 0:
        return self.clone()
    inside = [
        None if i is None else i.clamp(-self.shape[d], self.shape[d] - 1) for d, i in enumerate(indices)
    ]
    return _native._unsafe_index_put(self, inside, values.masked_fill(~mask, 0), accumulate=True)


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The coordinates of flat positions in a tensor of the given shape."""
    if indices.is_floating_point() or indices.is_complex() or indices.dtype == torch.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    indices = indices.long()
    out, step = [], math.prod(sizes)
    for size in sizes:
        step = step // size if size else 0
        out.append((indices // step) % size if step and size else torch.zeros_like(indices))
    return tuple(out)


_EMPTY_SEGMENT = {"sum": 0.0, "mean": math.nan, "max": -math.inf, "min": math.inf, "prod": 1.0}


def segment_reduce(
    data: Tensor,
    reduce: str,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """One value for each run of slices along `axis`; runs are given by lengths or by where they start."""
    if reduce not in _EMPTY_SEGMENT:
        raise RuntimeError(
            f"segment_reduce(): Expected reduce to be one of max, mean, min, prod or sum, got {reduce}"
        )
    if data.numel() == 0:
        raise RuntimeError("segment_reduce(): Expected data to be non-empty.")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis = from_front(axis, data.dim())
    skipped = None  # what lies before the first run
    if lengths is None:
        assert offsets is not None
        lengths, skipped = offsets[..., 1:] - offsets[..., :-1], offsets[..., :1]
    if lengths.dim() > data.dim():
        raise RuntimeError(
            f"segment_reduce(): Expected data to have at least as many dimensions as lengths, but got {data.dim()} and "
            f"{lengths.dim()}"
        )
    if lengths.dim() != axis + 1 or lengths.shape[:axis] != data.shape[:axis]:
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1)"
        )
    if not (unsafe or lengths.is_meta):
        if lengths.numel() and torch._C._functorch._of_all_slices(lengths).min().item() < 0:
            raise RuntimeError("lengths contains negative value!")
        if not bool(torch._C._functorch._of_all_slices(lengths.sum(-1) == data.shape[axis]).all().item()):
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
    before = torch.zeros_like(lengths[..., :1]) if skipped is None else skipped
    after = data.shape[axis] - lengths.sum(-1, keepdim=True) - before
    runs = torch.cat([before, lengths, after], -1).long()
    rest = data.shape[axis + 1 :]
    start = torch.full(
        (runs.numel(), *rest), _start_of(reduce, initial), dtype=data.dtype, device=data.device
    )
    rows = data.reshape(-1, *rest)
    numbers = torch.arange(runs.numel(), device=data.device)
    segment = torch.repeat_interleave(numbers, runs.reshape(-1), output_size=rows.shape[0])
    if reduce in ("sum", "mean"):
        out = start.index_add(0, segment, rows)
    else:
        name = {"max": "amax", "min": "amin", "prod": "prod"}[reduce]
        out = start.index_reduce(0, segment, rows, name, include_self=True)
    out = out.reshape(*runs.shape, *rest).narrow(axis, 1, lengths.shape[-1])
    if reduce == "mean":
        count = lengths.reshape(*lengths.shape, *[1] * len(rest))
        empty = math.nan if initial is None else initial
        out = torch.where(count > 0, out / count, torch.full_like(out, empty))
    return out.contiguous()


def _start_of(reduce: str, initial: float | None) -> float:
    if initial is not None:
        return initial
    return 0.0 if reduce == "mean" else _EMPTY_SEGMENT[reduce]


def rowwise_prune(
    weight: Tensor, mask: Tensor, compressed_indices_dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """The rows that the mask keeps, and for each row its place among them, or -1."""
    if weight.dim() != 2:
        raise RuntimeError("'weights' should have 2 dimensions.")
    if mask.numel() != weight.shape[0]:
        raise RuntimeError(
            "Number of elements in 'mask' should be equivalent to the number of rows in 'weights'."
        )
    if compressed_indices_dtype not in (torch.int32, torch.int64):
        raise RuntimeError("compressed_indices_dtype should be either int(int32) or long(int64).")
    keep = mask.reshape(-1).bool()
    places = torch.where(keep, keep.cumsum(0) - 1, -1)
    return weight[keep], places.to(compressed_indices_dtype)
