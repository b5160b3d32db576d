"""Padding."""

from __future__ import annotations

from typing import Any, ClassVar

from mindtorch_v2 import Tensor

from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _PadNd(Module):
    """``padding`` is one number, or before and after for every dimension, the last one first."""

    _dims: ClassVar[int]
    _mode: ClassVar[str]
    padding: tuple[int, ...]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise ValueError(
                f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.dim()}D input)"
            )
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Goes on with the other end of the input."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Goes on with the other end of the input."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Goes on with the other end of the input."""

    _dims = 3


class _ConstantPadNd(_PadNd):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Adds one value around the input."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Adds one value around the input."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Adds one value around the input."""

    _dims = 3


class ZeroPad1d(ConstantPad1d):
    """Adds zeros around the input."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Adds zeros around the input."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Adds zeros around the input."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirrors the input at its borders."""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Mirrors the input at its borders."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Mirrors the input at its borders."""

    _dims = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeats the values at the borders."""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeats the values at the borders."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeats the values at the borders."""

    _dims = 3
