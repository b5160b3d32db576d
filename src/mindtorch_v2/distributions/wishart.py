"""The Wishart distribution, over symmetric positive matrices."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from .._types.size import Size
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .multivariate_normal import cholesky_of_inverse


class Wishart(Distribution):
    """The sum of ``df`` outer products of normal vectors with that covariance."""

    support = constraints.positive_definite
    has_rsample = False

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
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch dimensions"
            )
        count = torch.as_tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch = torch.broadcast_shapes(count.shape, matrix.shape[:-2])
        self._batch_shape, self._event_shape = Size(batch), Size(matrix.shape[-2:])
        self.df = count.expand(batch)
        setattr(self, name, matrix.expand(batch + (-1, -1)))
        if (self.df <= self._event_shape[-1] - 1).any():
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {self._event_shape[-1] - 1}."
            )
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = cholesky_of_inverse(matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        factor = self._unbroadcasted_scale_tril
        return type(self)(self.df.expand(batch_shape), scale_tril=factor, validate_args=False)

    def __getattr__(self, name: str) -> Any:
        """The two forms of the covariance that were not given."""
        factor = self.__dict__.get("_unbroadcasted_scale_tril")
        if factor is None or name not in ("covariance_matrix", "precision_matrix", "scale_tril"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if name == "covariance_matrix":
            matrix = factor @ factor.mT
        else:
            matrix = factor if name == "scale_tril" else torch.cholesky_inverse(factor)
        return matrix.expand(self._batch_shape + self._event_shape)

    @property
    def mean(self) -> Any:
        return self.df.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view(self._batch_shape + (1, 1)) * (covariance.pow(2) + products)

    def sample(self, sample_shape: Any = ()) -> Any:
        """By Bartlett's decomposition: a triangle of normal values with roots of chi-squared ones on its diagonal."""
        shape = self._extended_shape(sample_shape)
        size = self._event_shape[-1]
        with torch.no_grad():
            freedom = self.df.unsqueeze(-1) - torch.arange(size, dtype=self.df.dtype, device=self.df.device)
            roots = Chi2(freedom, validate_args=False).sample(sample_shape).sqrt()
            triangle = (
                torch.randn(shape, dtype=self.df.dtype, device=self.df.device).tril(-1) + roots.diag_embed()
            )
            factor = self._unbroadcasted_scale_tril @ triangle
            return factor @ factor.mT

    def _halves(self) -> Any:
        """(df - i) / 2 for each dimension i."""
        size = self._event_shape[-1]
        return (self.df.unsqueeze(-1) - torch.arange(size, dtype=self.df.dtype, device=self.df.device)) / 2

    def _log_multigamma(self) -> Any:
        size = self._event_shape[-1]
        return size * (size - 1) / 4 * math.log(math.pi) + torch.lgamma(self._halves()).sum(-1)

    def _half_log_det(self) -> Any:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        size = self._event_shape[-1]
        solved = torch.cholesky_solve(value, self._unbroadcasted_scale_tril)
        return (
            -self.df * (size * math.log(2) / 2 + self._half_log_det())
            - self._log_multigamma()
            + (self.df - size - 1) / 2 * torch.linalg.slogdet(value).logabsdet
            - solved.diagonal(dim1=-2, dim2=-1).sum(dim=-1) / 2
        )

    def entropy(self) -> Any:
        size = self._event_shape[-1]
        return (
            (size + 1) * (size * math.log(2) / 2 + self._half_log_det())
            + self._log_multigamma()
            - (self.df - size - 1) / 2 * torch.digamma(self._halves()).sum(-1)
            + self.df * size / 2
        )
