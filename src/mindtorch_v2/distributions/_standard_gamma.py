"""Gamma samples by rejection, after Marsaglia and Tsang: a transformed normal value is kept or drawn again."""

from __future__ import annotations

import mindtorch_v2 as torch

from .._C import Tensor


def standard_gamma(concentration: Tensor) -> Tensor:
    """Samples with rate 1. Not differentiable: the samples do not remember how the shape changed them."""
    alpha = concentration.detach().reshape(-1)
    # Shapes below 1 are drawn with one more and scaled down.
    small = alpha < 1
    d = torch.where(small, alpha + 1, alpha) - 1 / 3
    c = (9 * d).rsqrt()
    found = torch.zeros_like(alpha)
    left = torch.arange(alpha.numel(), device=alpha.device)
    while left.numel():
        x = torch.randn(left.shape, dtype=alpha.dtype, device=alpha.device)
        u = 1 - torch.rand(left.shape, dtype=alpha.dtype, device=alpha.device)
        v = (1 + c[left] * x) ** 3
        kept = (v > 0) & (u.log() < 0.5 * x * x + d[left] * (1 - v + v.clamp(min=1e-30).log()))
        found[left[kept]] = (d[left] * v)[kept]
        left = left[~kept]
    scaling = (1 - torch.rand(alpha.shape, dtype=alpha.dtype, device=alpha.device)) ** (1 / alpha)
    return torch.where(small, found * scaling, found).reshape(concentration.shape)
