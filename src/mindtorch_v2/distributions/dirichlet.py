"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from ..nn import functional
from . import constraints
from ._standard_gamma import standard_gamma
from .distribution import Distribution


class Dirichlet(Distribution):
    """Vectors of probabilities."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        lowered = (self.concentration - 1).clamp(min=0.0)
        found = lowered / lowered.sum(-1, True)
        flat = (self.concentration < 1).all(dim=-1)
        if flat.any():  # all of the weight is then on one corner
            corner = functional.one_hot(found[flat].argmax(dim=-1), self.concentration.shape[-1])
            found = found.masked_scatter(flat.unsqueeze(-1).expand_as(found), corner.to(found))
        return found

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def sample(self, sample_shape: Any = ()) -> Any:
        drawn = standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return drawn / drawn.sum(-1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        return (
            torch.xlogy(self.concentration - 1.0, value).sum(-1)
            + torch.lgamma(self.concentration.sum(-1))
            - torch.lgamma(self.concentration).sum(-1)
        )

    def entropy(self) -> Any:
        count, total = self.concentration.size(-1), self.concentration.sum(-1)
        return (
            torch.lgamma(self.concentration).sum(-1)
            - torch.lgamma(total)
            - (count - total) * torch.digamma(total)
            - ((self.concentration - 1.0) * torch.digamma(self.concentration)).sum(-1)
        )
