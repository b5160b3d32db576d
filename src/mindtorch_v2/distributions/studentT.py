"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution, broadcast_all


class StudentT(Distribution):
    """Values around ``loc`` with heavy tails; ``df`` degrees of freedom."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        found = self.loc.clone()
        found[self.df <= 1] = math.nan
        return found

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        found = self.df.clone()
        many = self.df > 2
        found[many] = self.scale[many].pow(2) * self.df[many] / (self.df[many] - 2)
        found[(self.df <= 2) & (self.df > 1)] = math.inf
        found[self.df <= 1] = math.nan
        return found

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            x = torch.normal(torch.zeros(shape, dtype=self.df.dtype, device=self.df.device), 1.0)
            z = Chi2(self.df).sample(sample_shape)
            return self.loc + self.scale * (x * torch.rsqrt(z / self.df))

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        y = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + torch.lgamma(0.5 * self.df)
            - torch.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * torch.log1p(y**2.0 / self.df) - normalizer

    def entropy(self) -> Any:
        half = 0.5 * (self.df + 1)
        return (
            self.scale.log()
            + half * (torch.digamma(half) - torch.digamma(0.5 * self.df))
            + 0.5 * self.df.log()
            + torch.lgamma(0.5 * self.df)
            + math.lgamma(0.5)
            - torch.lgamma(half)
        )
