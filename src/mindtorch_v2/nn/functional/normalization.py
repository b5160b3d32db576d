"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch

from ... import _functions

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]


def layer_norm(
    input: torch.Tensor,
    normalized_shape: Sequence[int],
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> torch.Tensor:
    """Mean 0 and variance 1 over the last dimensions, whose sizes are ``normalized_shape``."""
    return _functions.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: torch.Tensor,
    normalized_shape: Sequence[int],
    weight: torch.Tensor | None = None,
    eps: float | None = None,
) -> torch.Tensor:
    """Root mean square 1 over the last dimensions."""
    return _functions.rms_norm(input, normalized_shape, weight, eps)


def _check_values_per_channel(sizes: Sequence[int], shown: object) -> None:
    """One value has no variance."""
    count = sizes[0]
    for size in sizes[2:]:
        count *= size
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {shown}")


def group_norm(
    input: torch.Tensor,
    num_groups: int,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> torch.Tensor:
    """Channels in groups; mean 0 and variance 1 in every group of every sample."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    shape = list(input.shape)
    _check_values_per_channel([shape[0] * shape[1] // num_groups, num_groups, *shape[2:]], shape)
    return _functions.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    """Mean 0 and variance 1 in every channel; training moves the running statistics."""
    if training:
        _check_values_per_channel(input.shape, input.shape)
        if (running_mean is None) != (running_var is None):
            raise ValueError("running_mean and running_var must either both be None or neither be None")
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    return _functions.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, True
    )


def instance_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    """Mean 0 and variance 1 in every channel of every sample."""
    if use_input_stats:
        count = 1
        for size in input.shape[2:]:
            count *= size
        if count == 1:
            raise ValueError(
                f"Expected more than 1 spatial element when training, got input size {input.shape}"
            )
    return _functions.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


def local_response_norm(
    input: torch.Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> torch.Tensor:
    """Each channel divided by a power of the mean square of its neighbours, ``size`` channels in all."""
    if input.dim() < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          input "
            f"(got {input.dim()} dimensions)"
        )
    if input.numel() == 0:
        return input
    # Zeros stand for the channels beyond both ends.
    squares = input * input
    shape = list(input.shape)
    shape[1] = size // 2
    front = torch.zeros(shape, dtype=input.dtype, device=input.device)
    shape[1] = (size - 1) // 2
    padded = torch.cat([front, squares, torch.zeros(shape, dtype=input.dtype, device=input.device)], 1)
    total = padded.narrow(1, 0, input.size(1))
    for offset in range(1, size):
        total = total + padded.narrow(1, offset, input.size(1))
    # The mean of integers is one, as that of a pool is.
    mean = total / size if input.is_floating_point() else total // size
    return input / (mean * alpha + k).pow(beta)


def normalize(
    input: torch.Tensor,
    p: float = 2.0,
    dim: int = 1,
    eps: float = 1e-12,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Divided by the p-norm along ``dim``, or by ``eps`` where that is larger."""
    norm = input.norm(p, dim, keepdim=True).clamp_min(eps).expand(input.shape)
    return input / norm if out is None else torch.div(input, norm, out=out)
