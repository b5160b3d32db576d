"""Linear maps."""

from ... import _functions

__all__ = ["linear"]

linear = _functions.linear
