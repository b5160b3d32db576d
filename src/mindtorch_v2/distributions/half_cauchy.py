"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from ._half import Half
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """Distances of Cauchy values from their centre."""

    _expands = ()

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        self._set_base(Cauchy(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Any:
        return torch.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Any:
        return self.base_dist.variance
