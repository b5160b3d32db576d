"""What a fake tensor cannot do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class UnsupportedFakeTensorException(RuntimeError):
    """A tensor for which there is no fake one."""

    reason: str


@dataclass
class DynamicOutputShapeException(RuntimeError):
    """The shape of an operator's result depends on values."""

    func: Any


@dataclass
class DataDependentOutputException(RuntimeError):
    """An operator's result is a value."""

    func: Any


@dataclass
class UnsupportedOperatorException(RuntimeError):
    """An operator that says nothing about the shape of its result."""

    func: Any


class FakeTensorDeviceMismatchError(RuntimeError):
    """Tensors of two devices met."""


class MetadataMismatchError(RuntimeError):
    """A fake result is not like the real one."""
