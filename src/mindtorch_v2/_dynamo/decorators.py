"""``torch._dynamo.decorators``: what is written into files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._absent import names_of


@dataclass(frozen=True, slots=True)
class _DimRange:
    """What a compiler may assume of a dimension; PyTorch saves it with what nested tensors know of lengths."""

    dim: int
    min: Any
    max: Any


__getattr__ = names_of(__name__)
