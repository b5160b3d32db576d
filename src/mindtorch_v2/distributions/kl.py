"""How far one distribution is from another: the Kullback-Leibler divergence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from ..nn import functional
from .bernoulli import Bernoulli
from .beta import Beta
from .categorical import Categorical
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .independent import Independent, sum_rightmost
from .laplace import Laplace
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .poisson import Poisson
from .uniform import Uniform

_formulas: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(
    type_p: type, type_q: type
) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """A decorator: the function computes the divergence of these two kinds."""
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected type_p and type_q to be Distribution subclasses but got {kind}")

    def register(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        _formulas[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The expectation under ``p`` of log p - log q."""
    matches = [pair for pair in _formulas if isinstance(p, pair[0]) and isinstance(q, pair[1])]
    if not matches:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    closest = max(matches, key=lambda pair: len(pair[0].__mro__) + len(pair[1].__mro__))
    return _formulas[closest](p, q)


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    one = p.probs * (functional.softplus(-q.logits) - functional.softplus(-p.logits))
    one = one.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    other = (1 - p.probs) * (functional.softplus(q.logits) - functional.softplus(p.logits))
    other = other.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)
    return one + other


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    parts = p.probs * (p.logits - q.logits)
    parts = parts.masked_fill((q.probs == 0).expand_as(parts), math.inf)
    return parts.masked_fill((p.probs == 0).expand_as(parts), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    return (
        q.concentration * (p.rate / q.rate).log()
        + torch.lgamma(q.concentration)
        - torch.lgamma(p.concentration)
        + (p.concentration - q.concentration) * torch.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    p_sum, q_sum = p.concentration.sum(-1), q.concentration.sum(-1)
    weights = torch.digamma(p.concentration) - torch.digamma(p_sum).unsqueeze(-1)
    return (
        torch.lgamma(p_sum)
        - torch.lgamma(q_sum)
        - (torch.lgamma(p.concentration) - torch.lgamma(q.concentration)).sum(-1)
        + ((p.concentration - q.concentration) * weights).sum(-1)
    )


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return found.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    lower_p, lower_q = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    log_dets = lower_q.diagonal(dim1=-2, dim2=-1).log().sum(-1) - lower_p.diagonal(
        dim1=-2, dim2=-1
    ).log().sum(-1)
    spread = torch.linalg.solve_triangular(lower_q, lower_p, upper=False).pow(2).sum((-2, -1))
    moved = (
        torch.linalg.solve_triangular(lower_q, (q.loc - p.loc).unsqueeze(-1), upper=False)
        .pow(2)
        .sum((-2, -1))
    )
    return log_dets + 0.5 * (spread + moved - p.event_shape[0])


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
