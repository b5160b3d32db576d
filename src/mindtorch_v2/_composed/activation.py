"""Activations that are too rare for native code."""

from __future__ import annotations

import mindtorch_v2 as torch


def rrelu(
    self: torch.Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Leaky relu whose slopes are drawn from [lower, upper]; outside training it is their mean."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return torch._C._nn.leaky_relu(self, (lower + upper) / 2)
    if self.device.type != "cpu" or torch._C._functorch.is_batchedtensor(self):
        drawn = torch.empty_like(self).uniform_(lower, upper, generator=generator)
        return torch.where(self > 0, self, self * drawn)
    # PyTorch's values: drawn in double precision, and only where a slope is needed.
    bent = self <= 0
    slopes = torch.empty(int(torch.count_nonzero(bent)), dtype=torch.float64)
    slopes.uniform_(lower, upper, generator=generator)
    return self * torch.ones_like(self).masked_scatter(bent, slopes.to(self.dtype))
