"""The distribution of Lewandowski, Kurowicka and Joe over correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from .._types.size import Size
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices; a ``concentration`` of 1 makes all matrices equally likely.

    Drawn by the onion method: the square of how far a row reaches outside the diagonal is a beta number, its
    direction is uniform.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _expands = ("concentration",)

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        rows = torch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        rows = torch.cat([rows.new_zeros(1), rows])
        last = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2)
        self._beta = Beta(rows + 0.5, last - 0.5 * rows)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        made = super().expand(batch_shape, _instance)
        made._beta = self._beta.expand(made.batch_shape + (self.dim,))
        return made

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            reach = self._beta.sample(sample_shape).unsqueeze(-1)
            like = self.concentration
            directions = torch.randn(
                self._extended_shape(sample_shape), dtype=like.dtype, device=like.device
            ).tril(-1)
            directions = directions / directions.norm(dim=-1, keepdim=True)
            directions[..., 0, :].fill_(0.0)
            rows = torch.sqrt(reach) * directions
            least = torch.finfo(rows.dtype).tiny
            diagonal = torch.clamp(1 - torch.sum(rows**2, dim=-1), min=least).sqrt()
            return rows + torch.diag_embed(diagonal)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        free = self.dim - 1
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        after = torch.arange(free - 1, -1, -1, dtype=diagonal.dtype, device=diagonal.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + after
        alpha = self.concentration + 0.5 * free
        normalizer = (
            0.5 * free * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, free) - free * torch.lgamma(alpha)
        )
        return torch.sum(powers * diagonal.log(), dim=-1) - normalizer
