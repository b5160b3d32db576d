"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from . import constraints
from .distribution import Distribution


def _times_vector(matrix: Any, vector: Any) -> Any:
    return torch.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def cholesky_of_inverse(matrix: Any) -> Any:
    """The lower triangular L with L L^T the inverse, from the factor of the flipped matrix."""
    flipped = torch.linalg.cholesky(torch.flip(matrix, (-2, -1)))
    triangular = torch.transpose(torch.flip(flipped, (-2, -1)), -2, -1)
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return torch.linalg.solve_triangular(triangular, identity, upper=False)


class MultivariateNormal(Distribution):
    """Vectors around ``loc``, by covariance, precision or the lower triangular factor of the covariance."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            "covariance_matrix": covariance_matrix,
            "scale_tril": scale_tril,
            "precision_matrix": precision_matrix,
        }
        given = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch + (-1, -1)))
        self.loc = loc.expand(batch + (-1,))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = cholesky_of_inverse(matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        made = super().expand(batch_shape, _instance)
        made._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return made

    def __getattr__(self, name: str) -> Any:
        """The two forms of the covariance that were not given."""
        factor = self.__dict__.get("_unbroadcasted_scale_tril")
        if factor is None or name not in self.arg_constraints:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if name == "covariance_matrix":
            matrix = torch.matmul(factor, factor.mT)
        else:
            matrix = factor if name == "scale_tril" else torch.cholesky_inverse(factor)
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        noise = torch.normal(torch.zeros(shape, dtype=self.loc.dtype, device=self.loc.device), 1.0)
        return self.loc + _times_vector(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        difference = value - self.loc
        factor = self._unbroadcasted_scale_tril
        solved = torch.linalg.solve_triangular(factor, difference.unsqueeze(-1), upper=False).squeeze(-1)
        half_log_det = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + solved.pow(2).sum(-1)) - half_log_det

    def entropy(self) -> Any:
        half_log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det
        return found.expand(self._batch_shape)
