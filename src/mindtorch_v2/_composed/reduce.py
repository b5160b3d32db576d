"""Norms kept under a limit."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor


def renorm(self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Each slice along `dim` whose p-norm is above `maxnorm` is scaled down to it."""
    if isinstance(p, complex) or isinstance(maxnorm, complex):
        raise RuntimeError("renorm: p and maxnorm must be real-valued")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if self.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.dim()} dimensions")
    self.size(dim)
    others = [d for d in range(self.dim()) if d != dim % self.dim()]
    norms = torch._C._linalg.vector_norm(self, p, others, True)
    # A little less than the limit, so that rounding does not leave a norm above it.
    factors = torch.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)
    return self * factors.to(self.dtype)
