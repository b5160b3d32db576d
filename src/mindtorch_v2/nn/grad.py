"""The gradients of convolutions, as functions."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from . import functional as F
from .functional._variants import variant

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _gradient(dims: int, which: int, size: Any, other: Tensor, grad_output: Tensor, options: Any) -> Tensor:
    """The gradient in the input (0) or the weight (1), whose size is given; the values do not matter."""
    convolve: Any = (F.conv1d, F.conv2d, F.conv3d)[dims - 1]
    unknown = torch.zeros(tuple(size), dtype=other.dtype, device=other.device, requires_grad=True)
    with torch.enable_grad():
        output = convolve(*((unknown, other) if which == 0 else (other, unknown)), None, *options)
    made: Any = torch.autograd.grad(output, unknown, grad_output)
    return made[0]  # type: ignore[no-any-return]


def _conv_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    _dims: int = 0,
) -> Tensor:
    """The gradient of a convolution in its input."""
    return _gradient(_dims, 0, input_size, weight, grad_output, (stride, padding, dilation, groups))


def _conv_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    _dims: int = 0,
) -> Tensor:
    """The gradient of a convolution in its weight."""
    return _gradient(_dims, 1, weight_size, input, grad_output, (stride, padding, dilation, groups))


conv1d_input = variant(_conv_input, "conv1d_input", _dims=1)
conv2d_input = variant(_conv_input, "conv2d_input", _dims=2)
conv3d_input = variant(_conv_input, "conv3d_input", _dims=3)
conv1d_weight = variant(_conv_weight, "conv1d_weight", _dims=1)
conv2d_weight = variant(_conv_weight, "conv2d_weight", _dims=2)
conv3d_weight = variant(_conv_weight, "conv3d_weight", _dims=3)
