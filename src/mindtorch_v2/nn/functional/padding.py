"""Padding."""

from ..._C import _nn

__all__ = ["pad"]

pad = _nn.pad
