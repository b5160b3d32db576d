"""Pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from ... import _functions
from ..._C import _nn

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

Pair = tuple[torch.Tensor, torch.Tensor]

adaptive_avg_pool1d = _functions.adaptive_avg_pool1d


def avg_pool1d(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> torch.Tensor:
    stride = () if stride is None else stride
    return _functions.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> torch.Tensor:
    stride = () if stride is None else stride
    return _nn.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> torch.Tensor:
    stride = () if stride is None else stride
    return _nn.avg_pool3d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _listed(value: Any, dims: int) -> list[Any]:
    return list(value) if isinstance(value, Sequence) else [value] * dims


def _filled_size(input: torch.Tensor, output_size: Any, dims: int) -> list[int]:
    """An output size in which None stands for the input's size."""
    sizes = _listed(output_size, dims)
    if len(sizes) <= input.dim():
        sizes = [
            have if size is None else size
            for size, have in zip(sizes, input.shape[input.dim() - len(sizes) :], strict=True)
        ]
    return sizes


def adaptive_avg_pool2d(input: torch.Tensor, output_size: Any) -> torch.Tensor:
    return _nn.adaptive_avg_pool2d(input, _filled_size(input, output_size, 2))


def adaptive_avg_pool3d(input: torch.Tensor, output_size: Any) -> torch.Tensor:
    return _nn.adaptive_avg_pool3d(input, _filled_size(input, output_size, 3))


def adaptive_max_pool1d_with_indices(
    input: torch.Tensor, output_size: Any, return_indices: bool = False
) -> Pair:
    return _functions.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool2d_with_indices(
    input: torch.Tensor, output_size: Any, return_indices: bool = False
) -> Pair:
    return _nn.adaptive_max_pool2d(input, _filled_size(input, output_size, 2))


def adaptive_max_pool3d_with_indices(
    input: torch.Tensor, output_size: Any, return_indices: bool = False
) -> Pair:
    return _nn.adaptive_max_pool3d(input, _filled_size(input, output_size, 3))


def adaptive_max_pool1d(input: torch.Tensor, output_size: Any, return_indices: bool = False) -> Any:
    both = adaptive_max_pool1d_with_indices(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool2d(input: torch.Tensor, output_size: Any, return_indices: bool = False) -> Any:
    both = adaptive_max_pool2d_with_indices(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool3d(input: torch.Tensor, output_size: Any, return_indices: bool = False) -> Any:
    both = adaptive_max_pool3d_with_indices(input, output_size)
    return both if return_indices else both[0]


def max_pool1d_with_indices(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pair:
    stride = [] if stride is None else stride
    return _functions.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pair:
    stride = [] if stride is None else stride
    return _nn.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pair:
    stride = [] if stride is None else stride
    return _nn.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    both = max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return both if return_indices else both[0]


def max_pool2d(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    both = max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return both if return_indices else both[0]


def max_pool3d(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    both = max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return both if return_indices else both[0]


def _fractional(
    dims: int,
    input: torch.Tensor,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    random_samples: torch.Tensor | None,
) -> Pair:
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = _listed(output_ratio, dims)
        if len(ratios) != dims:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(input.size(d - dims) * ratio) for d, ratio in enumerate(ratios)]
    if random_samples is None:
        batch = input.size(0) if input.dim() == dims + 2 else 1
        shape = (batch, input.size(-dims - 1), dims)
        random_samples = torch.rand(shape, dtype=input.dtype, device=input.device)
    pool = _nn.fractional_max_pool2d if dims == 2 else _nn.fractional_max_pool3d
    return pool(input, kernel_size, output_size, random_samples)


def fractional_max_pool2d_with_indices(
    input: torch.Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: torch.Tensor | None = None,
) -> Pair:
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(
    input: torch.Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: torch.Tensor | None = None,
) -> Pair:
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(
    input: torch.Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: torch.Tensor | None = None,
) -> Any:
    both = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


def fractional_max_pool3d(
    input: torch.Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: torch.Tensor | None = None,
) -> Any:
    both = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


def _unpool_size(
    input: torch.Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    output_size: Sequence[int] | None,
) -> list[int]:
    """The size that was pooled: the one asked for, if it lies within a stride of the likeliest."""
    dims = len(kernel_size)
    likely = [(input.size(d - dims) - 1) * stride[d] + kernel_size[d] - 2 * padding[d] for d in range(dims)]
    if output_size is None:
        return likely
    if len(output_size) == dims + 2:
        output_size = output_size[2:]
    if len(output_size) != dims:
        raise ValueError(
            "output_size should be a sequence containing "
            f"{dims} or {dims + 2} elements, but it has a length of '{len(output_size)}'"
        )
    for d in range(dims):
        low, high = likely[d] - stride[d], likely[d] + stride[d]
        if not low < output_size[d] < high:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {d} must be between {low} and {high})'
            )
    return list(output_size)


def _unpool_options(
    dims: int, kernel_size: Any, stride: Any, padding: Any
) -> tuple[list[int], list[int], list[int]]:
    kernel = _listed(kernel_size, dims)
    return kernel, kernel if stride is None else _listed(stride, dims), _listed(padding, dims)


def max_unpool1d(
    input: torch.Tensor,
    indices: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> torch.Tensor:
    kernel, step, pad = _unpool_options(1, kernel_size, stride, padding)
    size = _unpool_size(input, kernel, step, pad, output_size)
    return _nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)


def max_unpool2d(
    input: torch.Tensor,
    indices: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> torch.Tensor:
    kernel, step, pad = _unpool_options(2, kernel_size, stride, padding)
    return _nn.max_unpool2d(input, indices, _unpool_size(input, kernel, step, pad, output_size))


def max_unpool3d(
    input: torch.Tensor,
    indices: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> torch.Tensor:
    kernel, step, pad = _unpool_options(3, kernel_size, stride, padding)
    size = _unpool_size(input, kernel, step, pad, output_size)
    return _nn.max_unpool3d(input, indices, size, step, pad)


def _lp_pool(
    dims: int, input: torch.Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool
) -> torch.Tensor:
    """The p-norm of each window: its mean of powers times its size, rooted."""
    kernel = _listed(kernel_size, dims)
    step = [] if stride is None else stride
    pool = (avg_pool1d, avg_pool2d, avg_pool3d)[dims - 1]
    mean = pool(input.pow(norm_type), kernel, step, 0, ceil_mode)
    # Roots of what rounding made negative would be NaN.
    return (mean.sign() * mean.abs().relu()).mul(math.prod(kernel)).pow(1.0 / norm_type)


def lp_pool1d(
    input: torch.Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> torch.Tensor:
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: torch.Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> torch.Tensor:
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: torch.Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> torch.Tensor:
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
