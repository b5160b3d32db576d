"""The normal distribution of vectors whose covariance is a diagonal and a few directions."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from . import constraints
from .distribution import Distribution
from .multivariate_normal import MultivariateNormal


class LowRankMultivariateNormal(Distribution):
    """Covariance ``cov_factor cov_factor^T + diag(cov_diag)``."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        width = loc.shape[-1:]
        if cov_factor.shape[-2:-1] != width:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {width[0]} x m")
        if cov_diag.shape[-1:] != width:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {width}")
        batch = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc, self.cov_diag = loc.expand(batch + width), cov_diag.expand(batch + width)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        super().__init__(batch, width, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return self.cov_factor.pow(2).sum(-1) + self.cov_diag

    @property
    def covariance_matrix(self) -> Any:
        return self.cov_factor @ self.cov_factor.mT + torch.diag_embed(self.cov_diag)

    @property
    def scale_tril(self) -> Any:
        return torch.linalg.cholesky(self.covariance_matrix)

    @property
    def precision_matrix(self) -> Any:
        return torch.cholesky_inverse(self.scale_tril)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        along = torch.normal(torch.zeros(shape[:-1] + self.cov_factor.shape[-1:], **options), 1.0)
        alone = torch.normal(torch.zeros(shape, **options), 1.0)
        return self.loc + (self.cov_factor @ along.unsqueeze(-1)).squeeze(-1) + self.cov_diag.sqrt() * alone

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        return MultivariateNormal(self.loc, scale_tril=self.scale_tril, validate_args=False).log_prob(value)

    def entropy(self) -> Any:
        return MultivariateNormal(self.loc, scale_tril=self.scale_tril, validate_args=False).entropy()
