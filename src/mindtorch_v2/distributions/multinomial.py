"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._types.size import Size
from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution, broadcast_all


class Multinomial(Distribution):
    """How often each index comes up in ``total_count`` categorical draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        super().__init__(
            self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args
        )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        made = super().expand(batch_shape, _instance)
        made._categorical = self._categorical.expand(batch_shape)
        return made

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Any:
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        return self._categorical.logits

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        drawn = self._categorical.sample(Size((self.total_count,)) + Size(tuple(sample_shape)))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = torch.zeros(self._extended_shape(sample_shape), dtype=torch.int64, device=drawn.device)
        return counts.scatter_add_(-1, drawn, torch.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Any:
        counts = torch.arange(1.0, self.total_count + 1, device=self.probs.device).to(self.probs)
        counts = counts.view((-1,) + (1,) * self.probs.dim())
        chances = Binomial(self.total_count, self.probs, validate_args=False).log_prob(counts).exp()
        repeated = (chances * torch.lgamma(counts + 1)).sum([0, -1])
        orders = torch.lgamma(self.probs.new_tensor(self.total_count + 1.0))
        return self.total_count * self._categorical.entropy() - orders + repeated

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=torch.contiguous_format)
        ways = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        logits[(value == 0) & (logits == -float("inf"))] = 0
        return ways + (logits * value).sum(-1)
