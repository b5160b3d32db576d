"""Convolutions."""

from ... import _functions

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
]

conv1d = _functions.conv1d
conv2d = _functions.conv2d
conv3d = _functions.conv3d
conv_transpose1d = _functions.conv_transpose1d
conv_transpose2d = _functions.conv_transpose2d
conv_transpose3d = _functions.conv_transpose3d
conv_tbc = _functions.conv_tbc
