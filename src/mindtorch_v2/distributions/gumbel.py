"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from . import constraints
from .distribution import Distribution, broadcast_all

_EULER = 0.57721566490153286060


class Gumbel(Distribution):
    """The distribution of maxima."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * _EULER

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return self.stddev.pow(2)

    @property
    def stddev(self) -> Any:
        return (math.pi / math.sqrt(6)) * self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        limits = torch.finfo(self.loc.dtype)
        shape = self._extended_shape(sample_shape)
        u = torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device) * (1 - limits.eps - limits.tiny)
        return self.loc - self.scale * (-(u + limits.tiny).log()).log()

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def cdf(self, value: Any) -> Any:
        self._check(value)
        return torch.exp(-torch.exp((self.loc - value) / self.scale))

    def icdf(self, value: Any) -> Any:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Any:
        return self.scale.log() + (1 + _EULER)
