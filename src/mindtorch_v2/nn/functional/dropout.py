"""Dropout."""

from __future__ import annotations

import mindtorch_v2 as torch

__all__ = ["dropout"]


def dropout(
    input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not training or input.numel() == 0:
        return input
    if p == 1:
        kept = torch.zeros_like(input)
    else:
        with torch.no_grad():
            kept = torch.empty_like(input).bernoulli_(1 - p).div_(1 - p)
    return input.mul_(kept) if inplace else input * kept
