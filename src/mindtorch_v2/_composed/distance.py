"""Distances and similarities between vectors."""

from __future__ import annotations

import math

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor


def _norm(vectors: Tensor, p: float, dim: int, keepdim: bool) -> Tensor:
    """The p-norm, whose slope at the zero vector is 0."""
    sizes = vectors.abs()
    if p == 0:
        return (vectors != 0).to(vectors.dtype).sum(dim, keepdim=keepdim)
    if p == 1:
        return sizes.sum(dim, keepdim=keepdim)
    if math.isinf(p):
        return sizes.amax(dim, keepdim=keepdim) if p > 0 else sizes.amin(dim, keepdim=keepdim)
    total = (vectors * vectors if p == 2 and not vectors.is_complex() else sizes**p).sum(dim, keepdim=keepdim)
    zero = total == 0
    safe = total.masked_fill(zero, 1)
    return (safe.sqrt() if p == 2 else safe ** (1 / p)).masked_fill(zero, 0)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    dtype = torch.promote_types(x1.dtype, x2.dtype)
    if not dtype.is_floating_point:
        name = str(dtype).removeprefix("torch.")
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {name}")
    left, right = torch.broadcast_tensors(x1.to(dtype), x2.to(dtype))
    # Each vector is divided by its own length: the product of the lengths could overflow.
    lengths = [_norm(x, 2.0, dim, True) for x in (left, right)]
    with torch.no_grad():
        floors = [length.clamp_min(eps) - length for length in lengths]
    units = [
        x * (length + floor).reciprocal()
        for x, length, floor in zip((left, right), lengths, floors, strict=True)
    ]
    return (units[0] * units[1]).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    difference = x1 - x2 + eps
    return _norm(difference, p, max(difference.dim(), 1) - 1, keepdim)
