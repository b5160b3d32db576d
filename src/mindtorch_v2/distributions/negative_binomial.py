"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from ..nn import functional
from . import constraints
from ._logits import ProbsOrLogits, check_one
from .distribution import Distribution, broadcast_all
from .gamma import Gamma


class NegativeBinomial(ProbsOrLogits, Distribution):
    """How many tries succeed before ``total_count`` have failed."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        check_one(probs, logits)
        if probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        return self.mean / torch.sigmoid(-self.logits)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            rate = Gamma(self.total_count, torch.exp(-self.logits), validate_args=False).sample(sample_shape)
            return torch.poisson(rate)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        likelihood = self.total_count * functional.logsigmoid(-self.logits) + value * functional.logsigmoid(
            self.logits
        )
        normalizer = (
            -torch.lgamma(self.total_count + value)
            + torch.lgamma(1.0 + value)
            + torch.lgamma(self.total_count)
        )
        return likelihood - normalizer.masked_fill(self.total_count + value == 0.0, 0.0)
