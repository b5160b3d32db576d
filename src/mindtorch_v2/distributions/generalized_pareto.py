"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from . import constraints
from .distribution import Distribution
from .utils import _uniform

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """What exceeds a threshold ``loc``: a tail that ends, is exponential or falls as a power, for a
    ``concentration`` below, at or above 0."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _expands = ("loc", "scale", "concentration")

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)

    def _exponential(self) -> tuple[Any, Any]:
        """Where the tail is exponential, and the concentration, with 1 there, so that it can be divided by."""
        at_zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return at_zero, torch.where(at_zero, torch.ones_like(self.concentration), self.concentration)

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(_uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        z = self._z(value)
        at_zero, shape = self._exponential()
        return torch.where(at_zero, -z, -(1 + 1 / shape) * torch.log1p(shape * z)) - torch.log(self.scale)

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of larger values."""
        self._check(value)
        z = self._z(value)
        at_zero, shape = self._exponential()
        return torch.where(at_zero, -z, -torch.log1p(shape * z) / shape)

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of the probability of values up to this one."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Any) -> Any:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Any) -> Any:
        at_zero, shape = self._exponential()
        log_rest = torch.log1p(-value)
        return self.loc + self.scale * torch.where(at_zero, -log_rest, torch.expm1(-shape * log_rest) / shape)

    @property
    def mean(self) -> Any:
        found = self.loc + self.scale / (1 - self.concentration)
        return torch.where(self.concentration < 1, found, math.nan)

    @property
    def variance(self) -> Any:
        found = self.scale**2 / ((1 - self.concentration) ** 2 * (1 - 2 * self.concentration))
        return torch.where(self.concentration < 0.5, found, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    def entropy(self) -> Any:
        return torch.log(self.scale) + self.concentration + 1
