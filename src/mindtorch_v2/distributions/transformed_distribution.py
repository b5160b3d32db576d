"""Distributions of transformed values."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._types.size import Size
from . import constraints
from .distribution import Distribution
from .independent import Independent, sum_rightmost
from .transforms import ComposeTransform, Transform


class TransformedDistribution(Distribution):
    """The distribution of t(x) for x of another one."""

    arg_constraints: Any = {}

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(transform, Transform) for transform in self.transforms):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms}")
        whole = ComposeTransform(self.transforms)
        more = max(0, whole.event_dim - len(base_distribution.event_shape))
        self.base_dist: Any = Independent(base_distribution, more) if more else base_distribution
        super().__init__(self.base_dist.batch_shape, self.base_dist.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        made = type(self).__new__(type(self)) if _instance is None else _instance
        made.__dict__.update(self.__dict__, base_dist=self.base_dist.expand(Size(batch_shape)))
        made._batch_shape = Size(batch_shape)
        return made

    @property
    def has_rsample(self) -> bool:  # type: ignore[override] # the base's
        return bool(self.base_dist.has_rsample)

    @constraints.dependent_property
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self.event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        event_dim, y, found = len(self.event_shape), value, 0.0
        for transform in reversed(self.transforms):
            x = transform._inv_call(y)
            stretch = transform.log_abs_det_jacobian(x, y)
            found = found - sum_rightmost(stretch, event_dim - transform.event_dim)
            y = x
        inner = sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))
        return found + inner

    def _monotone(self, value: Any) -> Any:
        """Where the transforms fall, small and large change places."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform._inv_call(value)
        self._check_base(value)
        return self._monotone(self.base_dist.cdf(value))

    def _check_base(self, value: Any) -> None:
        if self._validate_args:
            self.base_dist._validate_sample(value)

    def icdf(self, value: Any) -> Any:
        return self._transformed(self.base_dist.icdf(self._monotone(value)))
