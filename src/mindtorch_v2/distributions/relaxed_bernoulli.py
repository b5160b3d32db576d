"""Bernoulli draws made continuous, so that they can be differentiated."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from . import constraints
from ._logits import ProbsOrLogits, check_one
from .distribution import Distribution, broadcast_all
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform


class LogitRelaxedBernoulli(ProbsOrLogits, Distribution):
    """The logits of RelaxedBernoulli's values."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        check_one(probs, logits)
        self.temperature = temperature
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        made = super().expand(batch_shape, _instance)
        made.temperature = self.temperature
        return made

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        eps = torch.finfo(self._param.dtype).eps
        probs = self.probs.expand(shape).clamp(min=eps, max=1 - eps)
        uniform = torch.rand(shape, dtype=probs.dtype, device=probs.device).clamp(min=eps, max=1 - eps)
        return (uniform.log() - (-uniform).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        return torch.as_tensor(self.temperature).log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Values between 0 and 1, nearer to the ends the lower the temperature is."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        return self.base_dist.probs
