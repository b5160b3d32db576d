"""The gradients of convolutions, as functions."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from . import functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _gradient(dims: int, which: int, size: Any, other: Tensor, grad_output: Tensor, options: Any) -> Tensor:
    """The gradient in the input (0) or the weight (1), whose size is given; the values do not matter."""
    convolve: Any = (F.conv1d, F.conv2d, F.conv3d)[dims - 1]
    unknown = torch.zeros(tuple(size), dtype=other.dtype, device=other.device, requires_grad=True)
    with torch.enable_grad():
        output = convolve(*((unknown, other) if which == 0 else (other, unknown)), None, *options)
    made: Any = torch.autograd.grad(output, unknown, grad_output)
    return made[0]  # type: ignore[no-any-return]


def conv1d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv1d in its input."""
    return _gradient(1, 0, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv1d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv1d in its weight."""
    return _gradient(1, 1, weight_size, input, grad_output, (stride, padding, dilation, groups))


def conv2d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv2d in its input."""
    return _gradient(2, 0, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv2d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv2d in its weight."""
    return _gradient(2, 1, weight_size, input, grad_output, (stride, padding, dilation, groups))


def conv3d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv3d in its input."""
    return _gradient(3, 0, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv3d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv3d in its weight."""
    return _gradient(3, 1, weight_size, input, grad_output, (stride, padding, dilation, groups))
