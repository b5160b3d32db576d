"""Bags of rows of a table: what F.embedding_bag and torch.embedding_bag have in common."""

from __future__ import annotations

from typing import NamedTuple

from .._C import Tensor
from .._C import _functions as _native

MODES = ("sum", "mean", "max")


class Bags(NamedTuple):
    """Results, and what they were made of, without padding: bag i has indices[ends[i]], … up to ends[i + 1]."""

    made: Tensor
    indices: Tensor
    ends: Tensor


def bag_of_each(ends: Tensor, count: int | None = None) -> Tensor:
    """The bag of each index; ``count`` is how many there are, for who knows it."""
    return _native.repeat_interleave(ends[1:] - ends[:-1], output_size=count)


def ends_of(offsets: Tensor, include_last_offset: bool, count: int) -> Tensor:
    """Where bags begin, and where the last one ends."""
    return offsets if include_last_offset else _native.cat([offsets, offsets.new_full((1,), count)])


def _check_offsets(offsets: Tensor, count: int) -> None:
    if offsets.numel() and offsets[0].item() != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position "
            f"0. However, got {offsets[0].item()}"
        )
    if offsets.numel() and offsets[-1].item() > count:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length({count}) but got offsets[-1] of "
            f"{offsets[-1].item()}"
        )


def _without(padding: int, input: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """Where the indices are that are not padding, and the bags of these alone."""
    kept = input != padding
    before = _native.cat([ends.new_zeros(1), kept.cumsum(0, dtype=ends.dtype)])
    return kept.nonzero()[:, 0], before[ends]


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
    ends = ends_of(offsets, include_last_offset, input.numel())
    if not weight.is_meta:  # which has no values: bags there are as long as they can be
        _check_offsets(offsets, input.numel())
        if include_last_offset and offsets.numel():
            end = int(offsets[-1].item())
            input, per_sample_weights = (
                input[:end],
                None if per_sample_weights is None else per_sample_weights[:end],
            )
        if padding is not None:
            kept, ends = _without(padding, input, ends)
            input, per_sample_weights = (
                input[kept],
                None if per_sample_weights is None else per_sample_weights[kept],
            )
    if mode == "max":
        rows = _native.embedding(weight, input, -1, scale_grad_by_freq, sparse)
        start = _native.zeros(ends.numel() - 1, weight.shape[1], dtype=weight.dtype, device=weight.device)
        return Bags(
            start.index_reduce(0, bag_of_each(ends, input.numel()), rows, "amax", include_self=False),
            input,
            ends,
        )
    total = _native._bag_sums(weight, input, ends, per_sample_weights, scale_grad_by_freq, sparse)
    if mode == "sum":
        return Bags(total, input, ends)
    lengths = (ends[1:] - ends[:-1]).clamp(min=1).to(weight.dtype)
    return Bags(total / lengths.unsqueeze(1), input, ends)
