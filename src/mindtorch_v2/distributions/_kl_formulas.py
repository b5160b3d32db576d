"""Divergences of pairs of distributions, registered when this module is loaded.

Note [Divergences from moments]

KL(p || q) = -entropy(p) - E_p[log q]. The logarithms of most densities are made of few functions of x: x itself, x^2,
log x, exp(-x / scale). So a formula belongs to a kind of q alone, and holds for every p that has these means. Pairs of
one kind have formulas of their own where these would subtract large numbers.
"""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from ..nn import functional
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, _half_log_det
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

# The densities of q are zero for some values of p.
_BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)
_Kinds = tuple[type[Any], ...]
_INFINITE: dict[type[Any], _Kinds] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: _BOUNDED,
    Gamma: _BOUNDED,
    Gumbel: (*_BOUNDED, Exponential, Gamma),
    Laplace: (*_BOUNDED, Exponential, Gamma),
    Normal: (*_BOUNDED, Exponential, Gamma),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}


def _infinite(p: Any, q: Any) -> Any:
    like = p._param if isinstance(p, ContinuousBernoulli) else p.mean
    shape = torch.broadcast_shapes(p.batch_shape, q.batch_shape)
    return torch.full(shape, math.inf, dtype=like.dtype, device=like.device)


_p: type[Any]
_q: type[Any]
_several: _Kinds
for _p, _several in _INFINITE.items():
    for _q in _several:
        register_kl(_p, _q)(_infinite)


# Moments of p.


def _x_log_x(x: Any) -> Any:
    return torch.xlogy(x, x)


def _mean_log(p: Any) -> Any:
    """E[log x]."""
    if isinstance(p, Beta):
        return torch.digamma(p.concentration1) - torch.digamma(p.concentration1 + p.concentration0)
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    if isinstance(p, Uniform):
        return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1
    raise NotImplementedError(f"the mean of log x of {type(p).__name__}")


def _mean_exp(p: Any, scale: Any) -> Any:
    """E[exp(-x / scale)]."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + scale.reciprocal())
    if isinstance(p, Gamma):
        return (1 + (scale * p.rate).reciprocal()).pow(-p.concentration)
    if isinstance(p, Gumbel):
        return torch.exp(torch.lgamma(1 + p.scale / scale) - p.loc / scale)
    if isinstance(p, Normal):
        return torch.exp((p.scale / scale).pow(2) / 2 - p.loc / scale)
    if isinstance(p, Uniform):
        return scale * ((-p.low / scale).exp() - (-p.high / scale).exp()) / (p.high - p.low)
    raise NotImplementedError(f"the mean of exp(-x / scale) of {type(p).__name__}")


def _outside(p: Any, q: Any) -> Any:
    """Where p has values that q has not, or too few moments: the divergence is infinite there."""
    if isinstance(p, Pareto):
        return p.alpha <= (2 if isinstance(q, Normal) else 1)
    if isinstance(p, Uniform) and isinstance(q, (Beta, ContinuousBernoulli)):
        return (p.high > 1) | (p.low < 0)
    if isinstance(p, Uniform) and isinstance(q, (Exponential, Gamma)):
        return p.low < 0
    if isinstance(p, Uniform) and isinstance(q, Pareto):
        return p.low < q.scale
    if isinstance(p, Beta) and isinstance(q, Uniform):
        return (q.high < 1) | (q.low > 0)
    if isinstance(q, Uniform):  # as in PyTorch, also where they end together
        return (q.high <= 1) | (q.low >= 0)
    return None


def _from_moments(p: Any, q: Any, mean_log_density: Any) -> Any:
    found = -p.entropy() - mean_log_density
    outside = _outside(p, q)
    return found if outside is None else torch.where(outside, math.inf, found)


# By the kind of q.


def _to_normal(p: Any, q: Any) -> Any:
    square = (p.variance + (p.mean - q.loc).pow(2)) / q.scale.pow(2)
    return _from_moments(p, q, -0.5 * (math.log(2 * math.pi) + square) - q.scale.log())


def _to_exponential(p: Any, q: Any) -> Any:
    return _from_moments(p, q, q.rate.log() - q.rate * p.mean)


def _to_gamma(p: Any, q: Any) -> Any:
    constant = q.concentration * q.rate.log() - torch.lgamma(q.concentration)
    return _from_moments(p, q, constant + (q.concentration - 1) * _mean_log(p) - q.rate * p.mean)


def _to_gumbel(p: Any, q: Any) -> Any:
    tail = torch.exp(q.loc / q.scale) * _mean_exp(p, q.scale)
    return _from_moments(p, q, -q.scale.log() - (p.mean - q.loc) / q.scale - tail)


def _to_beta(p: Any, q: Any) -> Any:
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    a, b = q.concentration1, q.concentration0
    constant = torch.lgamma(a + b) - torch.lgamma(a) - torch.lgamma(b)
    return _from_moments(p, q, constant + (a - 1) * _mean_log(p) + (b - 1) * _mean_log(mirrored))


def _to_continuous_bernoulli(p: Any, q: Any) -> Any:
    density = p.mean * q.logits + torch.log1p(-q.probs) + q._cont_bern_log_norm()
    return _from_moments(p, q, density)


def _to_uniform(p: Any, q: Any) -> Any:
    return _from_moments(p, q, -(q.high - q.low).log())


def _to_pareto(p: Any, q: Any) -> Any:
    return _from_moments(p, q, q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p))


for _q, _formula, _several in (
    (Normal, _to_normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform)),
    (Exponential, _to_exponential, (Beta, ContinuousBernoulli, Gamma, Pareto, Uniform)),
    (Gamma, _to_gamma, (Beta, Exponential, Pareto, Uniform)),
    (Gumbel, _to_gumbel, (Exponential, Gamma, Gumbel, Normal, Uniform)),
    (Beta, _to_beta, (Uniform,)),
    (ContinuousBernoulli, _to_continuous_bernoulli, (Beta, ContinuousBernoulli, Uniform)),
    (Uniform, _to_uniform, (Beta, ContinuousBernoulli)),
    (Pareto, _to_pareto, (Uniform,)),
):
    for _p in _several:
        register_kl(_p, _q)(_formula)


# Pairs.


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    apart = p.loc - q.loc
    ratio = apart / (p.scale * math.sqrt(2))
    distance = math.sqrt(2 / math.pi) * p.scale * torch.exp(-ratio.pow(2)) + apart * torch.erf(ratio)
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    one = p.probs * (functional.softplus(-q.logits) - functional.softplus(-p.logits))
    one = one.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    other = (1 - p.probs) * (functional.softplus(q.logits) - functional.softplus(p.logits))
    other = other.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)
    return one + other


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return torch.where(p.total_count > q.total_count, math.inf, p.total_count * one)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    parts = p.probs * (p.logits - q.logits)
    parts = torch.where(q.probs == 0, math.inf, parts)
    return torch.where(p.probs == 0, 0.0, parts).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    apart = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return apart.log() - (4 * p.scale * q.scale).log()


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    mean_log = torch.digamma(p.concentration) - torch.digamma(total_p).unsqueeze(-1)
    return (
        torch.lgamma(total_p)
        - torch.lgamma(total_q)
        - (torch.lgamma(p.concentration) - torch.lgamma(q.concentration)).sum(-1)
        + ((p.concentration - q.concentration) * mean_log).sum(-1)
    )


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _dirichlet(p._dirichlet, q._dirichlet)


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


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return torch.where(p.scale < q.scale, math.inf, found)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, found)


# Normal distributions of vectors. A root R of a covariance has R R^T equal to it; its columns need not be square.


def _log_det(d: Any) -> Any:
    return (
        d._log_det()
        if isinstance(d, LowRankMultivariateNormal)
        else 2 * _half_log_det(d._unbroadcasted_scale_tril)
    )


def _root(d: Any) -> Any:
    if isinstance(d, MultivariateNormal):
        return d._unbroadcasted_scale_tril
    diagonal = torch.diag_embed(d.cov_diag.sqrt())
    return torch.cat([d.cov_factor, diagonal], -1)


def _squares(matrix: Any) -> Any:
    return matrix.pow(2).sum((-2, -1))


def _trace_in_units_of(q: Any, root: Any) -> Any:
    """The trace of q's precision times the covariance with that root."""
    if isinstance(q, MultivariateNormal):
        return _squares(torch.linalg.solve_triangular(q._unbroadcasted_scale_tril, root, upper=False))
    factor, diagonal = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    along = torch.matmul(factor.mT / diagonal.unsqueeze(-2), root)
    along = torch.linalg.solve_triangular(q._capacitance_tril, along, upper=False)
    return _squares(root / diagonal.sqrt().unsqueeze(-1)) - _squares(along)


def _distance_in_units_of(q: Any, x: Any) -> Any:
    if isinstance(q, MultivariateNormal):
        return _batch_mahalanobis(q._unbroadcasted_scale_tril, x)
    return _batch_lowrank_mahalanobis(
        q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, x, q._capacitance_tril
    )


def _between_vectors(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        low = " Low Rank" if isinstance(p, LowRankMultivariateNormal) else ""
        low = f"two{low}" if type(p) is type(q) else "two (Low Rank)"
        raise ValueError(
            f"KL-divergence between {low} Multivariate Normals with different event shapes cannot be computed"
        )
    spread = _trace_in_units_of(q, _root(p)) + _distance_in_units_of(q, q.loc - p.loc)
    return 0.5 * (_log_det(q) - _log_det(p) + spread - p.event_shape[0])


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_between_vectors)


# Distributions made of others.


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    return p._bregman(q, 0)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    more = len(p.event_shape) - len(p.base_dist.event_shape)
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), more)
