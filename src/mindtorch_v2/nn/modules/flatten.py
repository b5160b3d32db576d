"""Changes of shape."""

from __future__ import annotations

import mindtorch_v2 as torch

from .module import Module


class Flatten(Module):
    """Joins the dimensions ``start_dim`` to ``end_dim``; the default keeps the batch."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
