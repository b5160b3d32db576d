"""The layout of convolutions' weights in memory."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

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
    return _convert(module, memory_format, (torch.nn.Conv2d, torch.nn.ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Lays out the weights of all Conv3d and ConvTranspose3d of the tree."""
    return _convert(module, memory_format, (torch.nn.Conv3d, torch.nn.ConvTranspose3d))
