"""The Wishart distribution, over symmetric positive matrices."""

from __future__ import annotations

import math
import warnings
from typing import Any

import mindtorch_v2 as torch

from .._types.size import Size
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .multivariate_normal import ByMatrix, _half_log_det

__all__ = ["Wishart"]


class Wishart(ByMatrix, ExponentialFamily):
    """The sum of ``df`` outer products of normal vectors with that covariance."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _expands = ("df", "covariance_matrix", "precision_matrix", "scale_tril")

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = {
            "scale_tril": scale_tril,
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
        }
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        assert len(given) == 1, (
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
        name, matrix = given[0]
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch dimensions"
            )
        count = torch.as_tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch, event = torch.broadcast_shapes(count.shape, matrix.shape[:-2]), matrix.shape[-2:]
        self.df = count.expand(batch)
        if self.df.le(event[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}.")
        setattr(self, name, matrix.expand(batch + (-1, -1)))
        Distribution.__init__(self, batch, event, validate_args=validate_args)
        if self.df.lt(event[-1]).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        self._unbroadcasted_scale_tril = self._factor(name, matrix)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - self._places(), validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        made = super().expand(batch_shape, _instance)
        made._dist_chi2 = self._dist_chi2.expand(made.batch_shape + self.event_shape[-1:])
        return made

    def _matrix_shape(self) -> Any:
        return self._batch_shape + self._event_shape

    def _places(self) -> Any:
        """0, 1, … for the dimensions of the vectors."""
        return torch.arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)

    def _for_matrices(self, values: Any) -> Any:
        return values.unsqueeze(-1).unsqueeze(-1)

    @property
    def mean(self) -> Any:
        return self._for_matrices(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return self._for_matrices(factor.masked_fill(factor <= 0, math.nan)) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._for_matrices(self.df) * (covariance.pow(2) + products)

    def _bartlett_sampling(self, sample_shape: Any = ()) -> Any:
        """A triangle of normal values with roots of chi-squared ones on its diagonal is the factor of a sample."""
        size = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).clamp(min=torch.finfo(self.df.dtype).eps).sqrt()
        noise = torch.randn(
            Size(sample_shape) + self._batch_shape + (size * (size - 1) // 2,),
            dtype=self.df.dtype,
            device=self.df.device,
        )
        triangle = torch.diag_embed(roots)
        rows, columns = torch.tril_indices(size, size, offset=-1, device=self.df.device)
        triangle[..., rows, columns] = noise
        factor = self._unbroadcasted_scale_tril @ triangle
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Any:
        """Samples; those that rounding has made singular are drawn again, ``max_try_correction`` times."""
        tries = (
            (3 if self.df.dtype == torch.float64 else 10)
            if max_try_correction is None
            else max_try_correction
        )
        sample = self._bartlett_sampling(sample_shape)
        singular = ~self.support.check(sample)
        if self._batch_shape and singular.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(tries):
            if not singular.any():
                break
            again = self._bartlett_sampling(sample_shape)
            sample = torch.where(self._for_matrices(singular), again, sample)
            singular = ~self.support.check(sample)
        return sample

    def _log_multigamma(self) -> Any:
        return torch.mvlgamma(self.df / 2, self._event_shape[-1])

    def _half_log_scale(self) -> Any:
        size = self._event_shape[-1]
        return size * math.log(2) / 2 + _half_log_det(self._unbroadcasted_scale_tril)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        size = self._event_shape[-1]
        solved = torch.cholesky_solve(value, self._unbroadcasted_scale_tril)
        return (
            -self.df * self._half_log_scale()
            - self._log_multigamma()
            + (self.df - size - 1) / 2 * torch.linalg.slogdet(value).logabsdet
            - solved.diagonal(dim1=-2, dim2=-1).sum(dim=-1) / 2
        )

    def entropy(self) -> Any:
        size = self._event_shape[-1]
        halves = (self.df.unsqueeze(-1) - self._places()) / 2
        return (
            (size + 1) * self._half_log_scale()
            + self._log_multigamma()
            - (self.df - size - 1) / 2 * torch.digamma(halves).sum(-1)
            + self.df * size / 2
        )

    @property
    def _natural_params(self) -> Any:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        size = self._event_shape[-1]
        half = y + (size + 1) / 2
        log_det = torch.linalg.slogdet(-2 * x).logabsdet
        return half * (size * math.log(2) - log_det) + torch.mvlgamma(half, size)
