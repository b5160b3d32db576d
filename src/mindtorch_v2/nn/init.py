"""Filling tensors with first values. Every function works in place, outside autograd, and returns the tensor.

The random ones draw in PyTorch's order and number, so that one seed gives PyTorch's parameters.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR_KINDS = {
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through ``nonlinearity``; ``param`` is leaky_relu's negative
    slope.
    """
    if nonlinearity in _LINEAR_KINDS or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor: torch.Tensor) -> tuple[int, int]:
    """How many inputs feed one output element and the reverse; a kernel's receptive field counts."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.size(1) * receptive_field, tensor.size(0) * receptive_field


def _calculate_correct_fan(tensor: torch.Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    mode = mode.lower()
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def _no_grad_uniform_(tensor: torch.Tensor, a: float, b: float, generator: Any = None) -> torch.Tensor:
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor: torch.Tensor, mean: float, std: float, generator: Any = None) -> torch.Tensor:
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_fill_(tensor: torch.Tensor, val: float) -> torch.Tensor:
    with torch.no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return tensor.zero_()


def uniform_(tensor: torch.Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> torch.Tensor:
    return _no_grad_uniform_(tensor, a, b, generator)


def normal_(tensor: torch.Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> torch.Tensor:
    return _no_grad_normal_(tensor, mean, std, generator)


def constant_(tensor: torch.Tensor, val: float) -> torch.Tensor:
    return _no_grad_fill_(tensor, val)


def zeros_(tensor: torch.Tensor) -> torch.Tensor:
    return _no_grad_zero_(tensor)


def ones_(tensor: torch.Tensor) -> torch.Tensor:
    return constant_(tensor, 1.0)


def eye_(tensor: torch.Tensor) -> torch.Tensor:
    """The identity, as far as the shape allows."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with torch.no_grad():
        tensor.zero_().diagonal().fill_(1)
    return tensor


def xavier_uniform_(tensor: torch.Tensor, gain: float = 1.0, generator: Any = None) -> torch.Tensor:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: torch.Tensor, gain: float = 1.0, generator: Any = None) -> torch.Tensor:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def _is_empty(tensor: torch.Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


def kaiming_uniform_(
    tensor: torch.Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> torch.Tensor:
    if _is_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: torch.Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> torch.Tensor:
    if _is_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def trunc_normal_(
    tensor: torch.Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> torch.Tensor:
    """Normal values between ``a`` and ``b``: what falls outside is drawn again."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )

    def below(x: float) -> float:
        """The share of the normal distribution below ``x``."""
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    # The bounds as the tensor's dtype has them, so that a value at a bound is not outside of it.
    low, high = (float(torch.tensor(bound, dtype=tensor.dtype)) for bound in (a, b))
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def normal() -> tuple[torch.Tensor, torch.Tensor]:
        values = torch.empty_like(tensor).normal_(mean, std, generator=generator)
        return values, (values < low) | (values > high)

    def proposed() -> tuple[torch.Tensor, torch.Tensor]:
        """Even values, of which those are kept that a second draw puts under the density."""
        values = torch.empty_like(tensor).uniform_(a, b, generator=generator)
        density = ((values - mean) / std).pow(2).mul(-0.5).sub(peak)
        return values, torch.empty_like(tensor).uniform_(generator=generator).log().gt(density)

    # Most normal values lie within, or even ones are the better guess.
    draw = normal if below(b) - below(a) > 0.3 else proposed
    with torch.no_grad():
        values, rejected = draw()
        while bool(rejected.any()):
            again, refused = draw()
            values = torch.where(rejected, again, values)
            rejected = rejected & refused
        return tensor.copy_(values)


_no_grad_trunc_normal_ = trunc_normal_


def orthogonal_(tensor: torch.Tensor, gain: float = 1, generator: Any = None) -> torch.Tensor:
    """Rows (or columns, whichever are fewer) at right angles to each other."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with torch.no_grad():
        values = torch.empty(rows, columns, dtype=tensor.dtype, device=tensor.device)
        values.normal_(0, 1, generator=generator)
        if rows < columns:
            values = values.t()
        orthogonal, upper = torch.linalg.qr(values)
        # The signs of the diagonal make the choice of Q unique, and so uniform.
        orthogonal = orthogonal * upper.diagonal().sign()
        if rows < columns:
            orthogonal = orthogonal.t()
        return tensor.copy_(orthogonal.reshape(tensor.shape)).mul_(gain)


def sparse_(tensor: torch.Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> torch.Tensor:
    """Normal values, of which the share ``sparsity`` of every column is zero."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[torch.randperm(rows)[:zeros], column] = 0
    return tensor


def dirac_(tensor: torch.Tensor, groups: int = 1) -> torch.Tensor:
    """The kernel of a convolution that passes its channels on, as many as it can in each group."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.size(0) // groups
    middle = [size // 2 for size in tensor.shape[2:]]
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.size(1))):
                tensor[(group * per_group + channel, channel, *middle)] = 1
    return tensor


def _former(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The name that a function had before those that work in place got an underscore."""
    name = function.__name__
    before = name[:-1]

    @functools.wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> torch.Tensor:
        warnings.warn(
            f"`nn.init.{before}` is now deprecated in favor of `nn.init.{name}`.", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    deprecated.__name__ = before
    return deprecated


uniform = _former(uniform_)
normal = _former(normal_)
constant = _former(constant_)
eye = _former(eye_)
dirac = _former(dirac_)
xavier_uniform = _former(xavier_uniform_)
xavier_normal = _former(xavier_normal_)
kaiming_uniform = _former(kaiming_uniform_)
kaiming_normal = _former(kaiming_normal_)
orthogonal = _former(orthogonal_)
sparse = _former(sparse_)
