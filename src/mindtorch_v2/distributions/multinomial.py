"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from .._types.size import Size
from . import constraints
from ._probs import OverCategorical
from .binomial import Binomial
from .categorical import Categorical
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OverCategorical):
    """How often each index comes up in ``total_count`` categorical draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _expands = ("_categorical",)

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._set_categorical(Categorical(probs, logits), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        drawn = self._categorical.sample(Size((self.total_count,)) + Size(sample_shape)).movedim(0, -1)
        counts = torch.zeros(self._extended_shape(sample_shape), dtype=torch.int64, device=drawn.device)
        return counts.scatter_add_(-1, drawn, torch.ones_like(drawn)).type_as(self.probs)

    @property
    def _binomial(self) -> Any:
        """The distribution of each count by itself."""
        return Binomial(self.total_count, self.probs, validate_args=False)

    def entropy(self) -> Any:
        counts = self._binomial.enumerate_support(expand=False)[1:]
        chances = torch.exp(self._binomial.log_prob(counts))
        repeated = (chances * torch.lgamma(counts + 1)).sum([0, -1])
        orders = torch.lgamma(torch.full_like(self.probs[..., 0], self.total_count + 1.0))
        return self.total_count * self._categorical.entropy() - orders + repeated

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        ways = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        never = (value == 0) & (logits == -math.inf)
        return ways + (logits.masked_fill(never, 0) * value).sum(-1)
