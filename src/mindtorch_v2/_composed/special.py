"""Special functions in terms of others."""

from __future__ import annotations

import math

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor
from mindtorch_v2._C import _functions as _native


def polygamma(n: int, self: Tensor) -> Tensor:
    """The n-th derivative of digamma."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n < 2:
        return torch.digamma(self) if n == 0 else _native._trigamma(self)
    return _native._polygamma(self, n)


def mvlgamma(self: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    dtype = self.dtype if self.is_floating_point() else torch.get_default_dtype()
    halves = torch.arange(p, dtype=dtype, device=self.device) * -0.5
    return torch.lgamma(self.unsqueeze(-1) + halves).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)
