"""Distributions of the exponential family."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities exp(<t(x), natural parameters> - log normalizer + k(x)).

    The gradient of the log normalizer is the mean of t(x), which gives the entropy and divergences of two alike.
    """

    @property
    def _natural_params(self) -> Any:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of k(x)."""
        raise NotImplementedError

    def entropy(self) -> Any:
        return self._bregman(self, -self._mean_carrier_measure)

    def _bregman(self, other: Any, start: Any) -> Any:
        """``start``, plus the log normalizer at ``other``'s parameters, less its tangent at ours, taken there."""
        ours = [own if own.requires_grad else own.detach().requires_grad_() for own in self._natural_params]
        theirs = other._natural_params
        normalizer = self._log_normalizer(*ours)
        means = torch.autograd.grad(normalizer.sum(), ours, create_graph=True)
        found = start + (normalizer if other is self else other._log_normalizer(*theirs) - normalizer)
        for our, their, mean in zip(ours, theirs, means, strict=True):
            moved = our if other is self else their - our
            product = moved * mean
            found = found - product.reshape(self._batch_shape + (-1,)).sum(-1)
        return found
