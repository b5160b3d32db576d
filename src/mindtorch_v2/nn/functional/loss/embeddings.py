"""Losses between embeddings: rankings, similarities, triplets."""

from __future__ import annotations

from collections.abc import Callable

import mindtorch_v2 as torch

from ....amp.autocast_mode import in_float32
from ..distance import pairwise_distance
from .reduction import reduce_values, reduction_name, reduction_number

__all__ = [
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def hinge_embedding_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """Distances of pairs that belong together (1), and what others (-1) lack to the margin."""
    input, target = in_float32(input, target)
    reduction = reduction_name(size_average, reduce, reduction)
    apart = (margin - input).clamp_min(0).masked_fill(target == 1, 0)
    together = input.masked_fill(target == -1, 0)
    return reduce_values(apart + together, reduction)


def margin_ranking_loss(
    input1: torch.Tensor,
    input2: torch.Tensor,
    target: torch.Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """What the first score lacks to exceed the second by the margin, or the reverse where target is -1."""
    input1, input2, target = in_float32(input1, input2, target)
    reduction = reduction_name(size_average, reduce, reduction)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return reduce_values((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def cosine_embedding_loss(
    input1: torch.Tensor,
    input2: torch.Tensor,
    target: torch.Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """How far the cosine of pairs that belong together (1) is from 1, and of others (-1) above the margin."""
    input1, input2, target = in_float32(input1, input2, target)
    reduction = reduction_name(size_average, reduce, reduction)
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != target.dim() + 1 or input2.dim() != target.dim() + 1:
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs with "
            f"sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    dim, floor = target.dim(), 1e-12
    lengths = ((input1 * input1).sum(dim) + floor) * ((input2 * input2).sum(dim) + floor)
    cosine = (input1 * input2).sum(dim) / lengths.sqrt()
    together = (1 - cosine).masked_fill(target != 1, 0)
    apart = (cosine - margin).clamp_min(0).masked_fill(target != -1, 0)
    return reduce_values(together + apart, reduction)


def _check_triplet(
    anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor, margin: float
) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
            f"but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D "
            "inputs"
        )


def triplet_margin_loss(
    anchor: torch.Tensor,
    positive: torch.Tensor,
    negative: torch.Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """What the negative lacks to be farther from the anchor than the positive by the margin."""
    anchor, positive, negative = in_float32(anchor, positive, negative)
    reduction = reduction_name(size_average, reduce, reduction)

    def distance(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return pairwise_distance(a, b, p, eps)

    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=distance,
        margin=margin,
        swap=swap,
        reduction=reduction,
    )


def triplet_margin_with_distance_loss(
    anchor: torch.Tensor,
    positive: torch.Tensor,
    negative: torch.Tensor,
    *,
    distance_function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> torch.Tensor:
    """``triplet_margin_loss`` with a distance of one's own."""
    reduction_number(reduction)
    _check_triplet(anchor, positive, negative, margin)
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return reduce_values((near - far + margin).clamp_min(0), reduction)
