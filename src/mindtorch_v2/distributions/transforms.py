"""Functions of values, with their inverses and the logarithm of how they stretch space."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from ..nn import functional
from . import constraints
from ._transforms_of_transforms import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    _at_least,
    _InverseTransform,  # noqa: F401  by which files know inverses
    _too_few,
    identity_transform,
)
from .utils import _sum_rightmost, broadcast_all, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
    "Transform",
    "identity_transform",
]


class _ElementwiseTransform(Transform):
    """Rising functions of single numbers without arguments."""

    bijective = True
    domain: Any = constraints.real
    codomain: Any = constraints.real
    sign = 1
    _alike = True


class ExpTransform(_ElementwiseTransform):
    """y = exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """y = x ** exponent."""

    bijective = True
    domain = codomain = constraints.positive
    _arguments = ("exponent",)
    _alike = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return torch.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _clipped_sigmoid(x: Any) -> Any:
    limits = torch.finfo(x.dtype)
    return torch.clamp(torch.sigmoid(x), min=limits.tiny, max=1.0 - limits.eps)


class SigmoidTransform(_ElementwiseTransform):
    """y = 1 / (1 + exp(-x))."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        limits = torch.finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -functional.softplus(-x) - functional.softplus(x)


class SoftplusTransform(_ElementwiseTransform):
    """y = log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return functional.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -functional.softplus(-x)


class TanhTransform(_ElementwiseTransform):
    """y = tanh(x)."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return torch.atanh(y)  # infinite at the ends, where tanh has rounded; a cache avoids it

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - functional.softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|, whose inverse gives the positive of the two."""

    domain = constraints.real
    codomain = constraints.positive
    _alike = True

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x."""

    bijective = True
    _arguments = ("loc", "scale", "event_dim")
    _alike = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return _at_least(constraints.real, self._event_dim)

    codomain = domain

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, torch.Tensor):
            return self.scale.sign()
        return int(self.scale > 0) - int(self.scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        shape = x.shape
        if isinstance(self.scale, torch.Tensor):
            found = torch.abs(self.scale).log()
        else:
            found = torch.full_like(x, math.log(abs(self.scale)))
        if self._event_dim:
            # As in PyTorch, a scale with fewer dimensions than the event counts once per element of its own.
            found = found.reshape(found.shape[: -self._event_dim] + (-1,)).sum(-1)
            shape = shape[: -self._event_dim]
        return found.expand(shape)

    def forward_shape(self, shape: Any) -> Any:
        own = [getattr(part, "shape", ()) for part in (self.loc, self.scale)]
        return torch.broadcast_shapes(shape, *own)

    inverse_shape = forward_shape


class SoftmaxTransform(Transform):
    """y = exp(x), made to sum to one; the inverse is one of many."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    _alike = True

    def _call(self, x: Any) -> Any:
        return torch.softmax(x, -1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise _too_few()
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Vectors to probabilities, of which there is one more: each takes its part of what the ones before left."""

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.simplex
    _alike = True

    def _shift(self, x: Any) -> Any:
        """Zeros become equal parts if this is taken away: the logarithms of how many come after each."""
        count = x.shape[-1]
        return torch.arange(count, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Any) -> Any:
        taken = _clipped_sigmoid(x - self._shift(x))
        left = (1 - taken).cumprod(-1)
        return functional.pad(taken, [0, 1], value=1) * functional.pad(left, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        parts = y[..., :-1]
        left = (1 - parts.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return parts.log() - left.log() + self._shift(parts)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._shift(x)
        return (functional.logsigmoid(x) - x + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise _too_few()
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise _too_few()
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal, by exponentials on it."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _alike = True

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones, by their Cholesky factors."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    _alike = True

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Vectors to Cholesky factors of correlation matrices.

    A row is a point on a half sphere, broken like a stick: tanh(x) is the part of the length that the ones before left.
    """

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.corr_cholesky

    def _call(self, x: Any) -> Any:
        eps = torch.finfo(x.dtype).eps
        parts = vec_to_tril_matrix(torch.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - parts**2).sqrt().cumprod(-1)
        parts = parts + torch.eye(parts.shape[-1], dtype=parts.dtype, device=parts.device)
        return parts * functional.pad(left[..., :-1], [1, 0], value=1)

    def _left(self, y: Any) -> Any:
        """The squared length that each entry and those before it leave."""
        return 1 - torch.cumsum(y * y, dim=-1)

    def _inverse(self, y: Any) -> Any:
        before = functional.pad(self._left(y)[..., :-1], [1, 0], value=1)
        parts = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(before, diag=-1).sqrt()
        return (parts.log1p() - parts.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        broken = 0.5 * tril_matrix_to_vec(self._left(y), diag=-2).log().sum(-1)
        return broken - 2 * (x + functional.softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise _too_few()
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise _too_few()
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class CumulativeDistributionTransform(Transform):
    """y = cdf(x): values to their quantiles."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1
    _arguments = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)


class _SeveralTransform(Transform):
    """Transforms side by side along a dimension."""

    transforms: list[Any]
    dim: int

    def _set(self, tseq: Any, dim: int, cache_size: int) -> None:
        assert all(isinstance(part, Transform) for part in tseq), (
            "All elements of tseq must be Transform instances"
        )
        super().__init__(cache_size=cache_size)
        self.transforms = [part.with_cache(cache_size) if cache_size else part for part in tseq]
        self.dim = dim

    @property
    def bijective(self) -> bool:  # type: ignore[override] # that of all parts
        return all(part.bijective for part in self.transforms)

    def _slice(self, value: Any) -> list[Any]:
        """The part of a tensor that each transform gets."""
        raise NotImplementedError

    def _joined(self, parts: list[Any]) -> Any:
        raise NotImplementedError

    def _check_dim(self, value: Any) -> None:
        assert -value.dim() <= self.dim < value.dim(), (
            f"dim {self.dim} out of range for tensor with {value.dim()} dimensions"
        )

    def _call(self, x: Any) -> Any:
        return self._joined([part(own) for part, own in zip(self.transforms, self._slice(x), strict=True)])

    def _inverse(self, y: Any) -> Any:
        return self._joined(
            [part.inv(own) for part, own in zip(self.transforms, self._slice(y), strict=True)]
        )

    def _stretches(self, x: Any, y: Any) -> list[Any]:
        parts = zip(self.transforms, self._slice(x), self._slice(y), strict=True)
        return [part.log_abs_det_jacobian(from_x, to_y) for part, from_x, to_y in parts]


class CatTransform(_SeveralTransform):
    """Slices of these lengths along ``dim``, each through its own transform."""

    _arguments = ("transforms", "dim", "lengths")

    def __init__(self, tseq: Any, dim: int = 0, lengths: Any = None, cache_size: int = 0) -> None:
        self._set(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        assert len(self.lengths) == len(self.transforms), (
            f"lengths ({len(self.lengths)}) must match tseq ({len(self.transforms)})"
        )

    @property
    def event_dim(self) -> int:
        return max(int(part.event_dim) for part in self.transforms)

    @property
    def length(self) -> int:
        return sum(self.lengths)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([part.domain for part in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([part.codomain for part in self.transforms], self.dim, self.lengths)

    def _slice(self, value: Any) -> list[Any]:
        self._check_dim(value)
        size = value.size(self.dim)
        assert size == self.length, f"x.size({self.dim}) = {size} must equal length {self.length}"
        return list(value.split(self.lengths, self.dim))

    def _joined(self, parts: list[Any]) -> Any:
        return torch.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        parts = [
            _sum_rightmost(stretch, self.event_dim - part.event_dim)
            for part, stretch in zip(self.transforms, self._stretches(x, y), strict=True)
        ]
        # The dimension they lie along is the batch's or, if the event has it, gone with the sum.
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return torch.cat(parts, dim=dim) if dim < 0 else sum(parts)


class StackTransform(_SeveralTransform):
    """Entries along ``dim``, each through its own transform."""

    _arguments = ("transforms", "dim")

    def __init__(self, tseq: Any, dim: int = 0, cache_size: int = 0) -> None:
        self._set(tseq, dim, cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([part.domain for part in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([part.codomain for part in self.transforms], self.dim)

    def _slice(self, value: Any) -> list[Any]:
        self._check_dim(value)
        size, wanted = value.size(self.dim), len(self.transforms)
        assert size == wanted, f"x.size({self.dim}) = {size} must equal len(transforms) {wanted}"
        return list(value.unbind(self.dim))

    def _joined(self, parts: list[Any]) -> Any:
        return torch.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self._joined(self._stretches(x, y))
