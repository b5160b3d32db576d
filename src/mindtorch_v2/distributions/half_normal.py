"""The distribution of |x| for normal x around 0."""

from __future__ import annotations

import math
from typing import Any

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform


class HalfNormal(TransformedDistribution):
    """Distances of normal values from their mean."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)
        if self._validate_args and not (self.scale > 0).all():
            raise ValueError(
                f"Expected parameter scale (Tensor of shape {tuple(self.scale.shape)}) of distribution {self!r} to "
                f"satisfy the constraint {constraints.positive!r}, but found invalid values:\n{self.scale}"
            )

    @property
    def scale(self) -> Any:
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Any:
        return self.scale * 0

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        found = self.base_dist.log_prob(value) + math.log(2)
        return found.masked_fill(value < 0, -math.inf)

    def cdf(self, value: Any) -> Any:
        self._check(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)
