"""Mixtures of distributions of one kind."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """One of several distributions, the last dimension of a batch of them, chosen by a categorical one."""

    arg_constraints: Any = {}

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            )
        mixed, parts = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if mixed != parts:
            raise ValueError(
                f"`mixture_distribution component` ({mixed}) does not equal `component_distribution.batch_shape[-1]` "
                f"({parts})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = parts
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(
            component_distribution.batch_shape[:-1],
            component_distribution.event_shape,
            validate_args=validate_args,
        )

    @property
    def mixture_distribution(self) -> Any:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        return self._component_distribution

    @constraints.dependent_property
    def support(self) -> Any:
        return self._component_distribution.support

    def _weights(self) -> Any:
        probs = self._mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self) -> Any:
        return torch.sum(self._weights() * self._component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self) -> Any:
        dim = -1 - self._event_ndims
        inside = torch.sum(self._weights() * self._component_distribution.variance, dim=dim)
        means = self._component_distribution.mean
        between = torch.sum(self._weights() * (means - self.mean.unsqueeze(dim)).pow(2.0), dim=dim)
        return inside + between

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            dim = len(chosen.shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand(chosen.shape + (1,) + tuple(self.event_shape))
            return torch.gather(values, dim, index).squeeze(dim)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        value = value.unsqueeze(-1 - self._event_ndims)
        parts = self._component_distribution.log_prob(value)
        weights = torch.log_softmax(self._mixture_distribution.logits, dim=-1)
        return torch.logsumexp(parts + weights, dim=-1)

    def cdf(self, value: Any) -> Any:
        parts = self._component_distribution.cdf(value.unsqueeze(-1))
        return torch.sum(parts * self._mixture_distribution.probs, dim=-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
