"""Mixtures of distributions of one kind."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of several distributions, the last dimension of a batch of them, chosen by a categorical one."""

    arg_constraints: Any = {}
    has_rsample = False
    _expands = ("_mixture_distribution",)

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of torch.distributions.Distribution"
            )
        mixed, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for ours, theirs in zip(reversed(mixed), reversed(batch), strict=False):
            if ours != 1 and theirs != 1 and ours != theirs:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        weights, parts = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if weights != parts:
            raise ValueError(
                f"`mixture_distribution component` ({weights}) does not equal `component_distribution.batch_shape[-1]` "
                f"({parts})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = parts
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        made = super().expand(batch_shape, _instance)
        made._component_distribution = self._component_distribution.expand(
            made.batch_shape + (self._num_component,)
        )
        return made

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        return self._component_distribution

    def _mixed(self, values: Any) -> Any:
        """The mean over the components of what each has."""
        weights = self._pad_mixture_dimensions(self._mixture_distribution.probs)
        return torch.sum(weights * values, dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Any:
        return self._mixed(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        between = (self._component_distribution.mean - self._pad(self.mean)).pow(2.0)
        return self._mixed(self._component_distribution.variance) + self._mixed(between)

    def cdf(self, x: Any) -> Any:
        chances = self._component_distribution.cdf(self._pad(x))
        return torch.sum(chances * self._mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Any) -> Any:
        self._check(x)
        parts = self._component_distribution.log_prob(self._pad(x))
        weights = torch.log_softmax(self._mixture_distribution.logits, dim=-1)
        return torch.logsumexp(parts + weights, dim=-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self._batch_shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand(values.shape[:dim] + (1,) + self._event_shape)
            return torch.gather(values, dim, index).squeeze(dim)

    def _pad(self, x: Any) -> Any:
        """Values with a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Any) -> Any:
        return x.reshape(x.shape + (1,) * self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
