"""Embeddings in terms of other operators."""

from __future__ import annotations

import math

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from .._functions.bags import MODES, Bags, bag_of_each, bags_of, ends_of


def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """A 1 at each index along a new last dimension, 0 elsewhere."""
    if self.dtype != torch.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return torch.empty((*self.shape, num_classes), dtype=torch.int64, device=self.device)
    values = self if num_classes == -1 else torch._C._functorch._of_all_slices(self)
    if values.min().item() < 0:
        raise RuntimeError("Class values must be non-negative.")
    highest = int(values.max().item())
    if num_classes == -1:
        num_classes = highest + 1
    elif num_classes <= highest:
        raise RuntimeError(
            "num_classes should be positive"
            if num_classes < 1
            else "Class values must be smaller than num_classes."
        )
    flat = self.new_zeros((*self.shape, num_classes))
    return flat.scatter_(-1, self.unsqueeze(-1), 1)


def embedding_renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows that are looked up down to max_norm where their norm is larger."""
    if indices.dtype not in (torch.int32, torch.int64):
        raise RuntimeError(
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{indices.type()} instead (while checking arguments for embedding_renorm_)"
        )
    if self.is_meta:
        return self
    with torch.no_grad():
        rows = torch.unique(indices.reshape(-1))
        if rows.numel() and int(rows[-1]) >= self.shape[0]:
            raise IndexError(
                f"select(): index {int(rows[-1])} out of range for tensor of size {list(self.shape)} at dimension 0"
            )
        if rows.numel() and int(rows[0]) < 0:
            raise IndexError("index out of range in self")
        found = self.index_select(0, rows)
        size = found.abs()
        if norm_type == math.inf:
            norms = size.amax(1, keepdim=True)
        else:
            norms = (size**norm_type).sum(1, keepdim=True) ** (1.0 / norm_type)
        scale = torch.where(norms > max_norm, max_norm / (norms + 1e-7), torch.ones_like(norms))
        self.index_copy_(0, rows.long(), found * scale)
    return self


# ---- bags ---------------------------------------------------------------------------------------------


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Bags of rows; then the bag of each index, the lengths of bags, and, of maxima, the rows they come from."""
    if not 0 <= mode < len(MODES):
        raise RuntimeError(f"embedding_bag: mode is 0 (sum), 1 (mean) or 2 (max), got {mode}")
    name, rows = MODES[mode], weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got "
                f"{padding_idx}"
            )
        padding_idx %= rows
    if name == "max" and scale_grad_by_freq:
        raise RuntimeError(
            "embedding_bag: scaling the gradient by the frequency is not supported with mode='max'"
        )
    if name != "sum" and per_sample_weights is not None:
        raise RuntimeError("embedding_bag: per_sample_weights is only supported with mode='sum'")
    found = bags_of(
        indices, weight, offsets, scale_grad_by_freq, name, sparse, per_sample_weights, include_last_offset, padding_idx
    )  # fmt: skip
    count = found.made.shape[0]
    if name == "sum" and padding_idx is None:  # nothing that the gradient would need
        return found.made, indices.new_empty(0), offsets.new_zeros(count), offsets.new_zeros(count)
    if weight.is_meta:
        lengths = offsets.new_zeros(count)
        return found.made, torch.empty_like(indices), lengths, lengths.clone()
    lengths = (found.ends[1:] - found.ends[:-1]).to(offsets.dtype)
    all_bags = bag_of_each(ends_of(offsets, include_last_offset, indices.numel())).to(indices.dtype)
    if name == "mean":
        return found.made, all_bags, lengths, lengths.clone()
    if name == "sum":
        return found.made, all_bags, lengths, offsets.new_zeros(count)
    return found.made, all_bags, lengths, _rows_of_maxima(found, weight, lengths)


def _rows_of_maxima(found: Bags, weight: Tensor, lengths: Tensor) -> Tensor:
    """For each element of a maximum, the index of the first row that has it; 0 of bags without rows."""
    last = found.indices.shape[0]
    if last == 0:
        return torch.zeros_like(found.made, dtype=found.indices.dtype)
    bags = bag_of_each(found.ends)
    places = torch.arange(last, device=found.made.device).unsqueeze(1)
    at = torch.where(weight.detach()[found.indices] == found.made.detach()[bags], places, last)
    first = torch.full(found.made.shape, last, dtype=places.dtype, device=places.device)
    first = first.index_reduce(0, bags, at, "amin").clamp(max=last - 1)
    return torch.where(lengths.unsqueeze(1) > 0, found.indices[first], 0)


def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    padding = None if padding_idx < 0 else padding_idx
    return embedding_bag(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding
    )  # fmt: skip
