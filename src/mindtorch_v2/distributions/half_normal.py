"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from ._half import Half
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """Distances of normal values from their mean."""

    _expands = ()

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        self._set_base(Normal(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (1 - 2 / math.pi)
