"""Activations."""

from __future__ import annotations

import mindtorch_v2 as torch

from ... import _functions
from ..._C import _nn

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "leaky_relu", "leaky_relu_", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu",
    "rrelu_",
    "selu", "selu_", "silu", "softplus", "softshrink", "threshold", "threshold_",
]  # fmt: skip

# These are the operators themselves; the rest adds inplace=.
gelu = _nn.gelu
softplus = _nn.softplus
softshrink = _nn.softshrink
logsigmoid = _nn.log_sigmoid
hardshrink = _functions.hardshrink
prelu = _functions.prelu
relu_ = _functions.relu_
selu_ = _functions.selu_
celu_ = _functions.celu_
rrelu_ = _functions.rrelu_
threshold_ = _functions.threshold_
elu_ = _nn.elu_
hardtanh_ = _nn.hardtanh_
leaky_relu_ = _nn.leaky_relu_


def relu(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    return input.relu_() if inplace else _functions.relu(input)


def relu6(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    return _nn.relu6_(input) if inplace else _nn.relu6(input)


def leaky_relu(input: torch.Tensor, negative_slope: float = 0.01, inplace: bool = False) -> torch.Tensor:
    return _nn.leaky_relu_(input, negative_slope) if inplace else _nn.leaky_relu(input, negative_slope)


def elu(input: torch.Tensor, alpha: float = 1.0, inplace: bool = False) -> torch.Tensor:
    return _nn.elu_(input, alpha) if inplace else _nn.elu(input, alpha)


def selu(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    return _functions.selu_(input) if inplace else _functions.selu(input)


def celu(input: torch.Tensor, alpha: float = 1.0, inplace: bool = False) -> torch.Tensor:
    return _functions.celu_(input, alpha) if inplace else _functions.celu(input, alpha)


def rrelu(
    input: torch.Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> torch.Tensor:
    function = _functions.rrelu_ if inplace else _functions.rrelu
    return function(input, lower, upper, training)


def silu(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    return _nn.silu_(input) if inplace else _nn.silu(input)


def mish(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    return _nn.mish_(input) if inplace else _nn.mish(input)


def hardswish(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    return _nn.hardswish_(input) if inplace else _nn.hardswish(input)


def hardsigmoid(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    return _nn.hardsigmoid_(input) if inplace else _nn.hardsigmoid(input)


def hardtanh(
    input: torch.Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> torch.Tensor:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    function = _nn.hardtanh_ if inplace else _nn.hardtanh
    return function(input, min_val, max_val)


def _threshold(input: torch.Tensor, threshold: float, value: float, inplace: bool = False) -> torch.Tensor:
    function = _functions.threshold_ if inplace else _functions.threshold
    return function(input, threshold, value)


threshold = _threshold  # PyTorch's names for it


def glu(input: torch.Tensor, dim: int = -1) -> torch.Tensor:
    return _nn.glu(input, dim)
