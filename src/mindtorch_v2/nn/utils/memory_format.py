"""The layout of convolutions' weights in memory."""

from __future__ import annotations

from typing import Any

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Any, memory_format: Any, kinds: tuple[type, ...]) -> Any:
    weight: Any = getattr(module, "weight", None)
    if isinstance(module, kinds):
        weight.data = weight.detach().clone().contiguous(memory_format=memory_format)
    for child in module.children():
        _convert(child, memory_format, kinds)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Lays out the weights of all Conv2d and ConvTranspose2d of the tree."""
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Lays out the weights of all Conv3d and ConvTranspose3d of the tree."""
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
