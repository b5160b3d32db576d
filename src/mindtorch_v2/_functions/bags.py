"""Bags of rows of a table: what F.embedding_bag and torch.embedding_bag have in common."""

from __future__ import annotations

from typing import NamedTuple

from .._C import Tensor
from .._C import _functions as _native

MODES = ("sum", "mean", "max")


class Bags(NamedTuple):
    """Results, and what they were made of: without padding, but for `all_bags`."""

    made: Tensor
    indices: Tensor
    all_bags: Tensor  # the bag of each index
    bags: Tensor
    rows: Tensor


def bags_of(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: str,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding: int | None,
) -> Bags:
    """Sums, means or maxima of bags of rows of `weight`: bag i begins at offsets[i] of `input`."""
    if weight.is_meta:
        count = offsets.numel() - include_last_offset
        bag = _native.empty_like(input)
        return Bags(weight.new_empty(count, weight.shape[1]), input, bag, bag, weight)
    if offsets.numel() and offsets[0].item() != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position "
            f"0. However, got {offsets[0].item()}"
        )
    if offsets.numel() and offsets[-1].item() > input.numel():
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length({input.numel()}) but got offsets[-1] of "
            f"{offsets[-1].item()}"
        )
    if include_last_offset:
        offsets = offsets[:-1]
    count = offsets.numel()
    places = _native.arange(input.numel(), dtype=offsets.dtype, device=input.device)
    all_bags = bag = _native.bucketize(places, offsets, right=True) - 1
    if padding is not None:
        kept = (input != padding).nonzero()[:, 0]
        input, bag = input[kept], bag[kept]
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights[kept]
    rows = _native.embedding(weight, input, -1, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    start = _native.zeros(count, weight.shape[1], dtype=weight.dtype, device=weight.device)
    if mode == "max":
        return Bags(start.index_reduce(0, bag, rows, "amax", include_self=False), input, all_bags, bag, rows)
    total = start.index_add(0, bag, rows)
    if mode == "sum":
        return Bags(total, input, all_bags, bag, rows)
    ones = _native.ones_like(bag, dtype=weight.dtype)
    lengths = _native.zeros(count, dtype=weight.dtype, device=weight.device).index_add_(0, bag, ones)
    return Bags(total / lengths.clamp(min=1).unsqueeze(1), input, all_bags, bag, rows)
