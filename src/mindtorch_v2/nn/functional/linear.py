"""Linear maps."""

from ... import _functions

__all__ = ["bilinear", "linear"]

bilinear = _functions.bilinear
linear = _functions.linear
