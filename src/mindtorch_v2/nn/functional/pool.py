"""Pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import mindtorch_v2 as torch

from ... import _functions
from ..._C import _nn
from ._variants import variant

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

Pool = TypeVar("Pool", bound=Callable[..., Any])

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


def _avg_pool(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    _kernel: Any = None,
) -> torch.Tensor:
    stride = () if stride is None else stride
    return _kernel(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)  # type: ignore[no-any-return]


avg_pool2d = variant(_avg_pool, "avg_pool2d", _kernel=_nn.avg_pool2d)
avg_pool3d = variant(_avg_pool, "avg_pool3d", _kernel=_nn.avg_pool3d)


def _listed(value: Any, dims: int) -> list[Any]:
    return list(value) if isinstance(value, Sequence) else [value] * dims


def _filled_size(input: torch.Tensor, output_size: Any, dims: int) -> list[int]:
    """An output size in which None stands for the input's size."""
    sizes = _listed(output_size, dims)
    if input.dim() <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    return [
        have if size is None else size
        for size, have in zip(sizes, input.shape[input.dim() - len(sizes) :], strict=True)
    ]


def adaptive_avg_pool2d(input: torch.Tensor, output_size: Any) -> torch.Tensor:
    return _nn.adaptive_avg_pool2d(input, _filled_size(input, output_size, 2))


def adaptive_avg_pool3d(input: torch.Tensor, output_size: Any) -> torch.Tensor:
    return _nn.adaptive_avg_pool3d(input, _filled_size(input, output_size, 3))


# Pools of maxima. ``_both`` makes the function whose name ends in "_with_indices".


def _adaptive_max_pool(
    input: torch.Tensor,
    output_size: Any,
    return_indices: bool = False,
    *,
    _dims: int = 0,
    _kernel: Any = None,
    _both: bool = False,
) -> Any:
    both = _kernel(input, output_size if _dims == 1 else _filled_size(input, output_size, _dims))
    return both if return_indices or _both else both[0]


def _max_pool(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    _kernel: Any = None,
    _both: bool = False,
) -> Any:
    both = _kernel(input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)
    return both if return_indices or _both else both[0]


def _fractional_max_pool(
    input: torch.Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: torch.Tensor | None = None,
    *,
    _dims: int = 0,
    _kernel: Any = None,
    _both: bool = False,
) -> Any:
    name = f"fractional_max_pool{_dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = _listed(output_ratio, _dims)
        if len(ratios) != _dims:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(input.size(d - _dims) * ratio) for d, ratio in enumerate(ratios)]
    if _random_samples is None:
        batch = input.size(0) if input.dim() == _dims + 2 else 1
        shape = (batch, input.size(-_dims - 1), _dims)
        _random_samples = torch.rand(shape, dtype=input.dtype, device=input.device)
    both = _kernel(input, kernel_size, output_size, _random_samples)
    return both if return_indices or _both else both[0]


def _maxima(pool: Pool, name: str, **settled: Any) -> tuple[Pool, Pool]:
    """The function ``name`` and the one that always gives the indices, too."""
    return (
        variant(pool, name, **settled, _both=False),
        variant(pool, f"{name}_with_indices", **settled, _both=True),
    )


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _maxima(
    _adaptive_max_pool, "adaptive_max_pool1d", _dims=1, _kernel=_functions.adaptive_max_pool1d
)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _maxima(
    _adaptive_max_pool, "adaptive_max_pool2d", _dims=2, _kernel=_nn.adaptive_max_pool2d
)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _maxima(
    _adaptive_max_pool, "adaptive_max_pool3d", _dims=3, _kernel=_nn.adaptive_max_pool3d
)
max_pool1d, max_pool1d_with_indices = _maxima(
    _max_pool, "max_pool1d", _kernel=_functions.max_pool1d_with_indices
)
max_pool2d, max_pool2d_with_indices = _maxima(_max_pool, "max_pool2d", _kernel=_nn.max_pool2d_with_indices)
max_pool3d, max_pool3d_with_indices = _maxima(_max_pool, "max_pool3d", _kernel=_nn.max_pool3d_with_indices)
fractional_max_pool2d, fractional_max_pool2d_with_indices = _maxima(
    _fractional_max_pool, "fractional_max_pool2d", _dims=2, _kernel=_nn.fractional_max_pool2d
)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _maxima(
    _fractional_max_pool, "fractional_max_pool3d", _dims=3, _kernel=_nn.fractional_max_pool3d
)


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


def _max_unpool(
    input: torch.Tensor,
    indices: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
    *,
    _dims: int = 0,
) -> torch.Tensor:
    kernel = _listed(kernel_size, _dims)
    step = kernel if stride is None else _listed(stride, _dims)
    pad = _listed(padding, _dims)
    size = _unpool_size(input, kernel, step, pad, output_size)
    if _dims == 1:
        return _nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)
    if _dims == 2:
        return _nn.max_unpool2d(input, indices, size)
    return _nn.max_unpool3d(input, indices, size, step, pad)


max_unpool1d = variant(_max_unpool, "max_unpool1d", _dims=1)
max_unpool2d = variant(_max_unpool, "max_unpool2d", _dims=2)
max_unpool3d = variant(_max_unpool, "max_unpool3d", _dims=3)


def _lp_pool(
    input: torch.Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
    *,
    _dims: int = 0,
) -> torch.Tensor:
    """The p-norm of each window: its mean of powers times its size, rooted."""
    kernel = _listed(kernel_size, _dims)
    step = [] if stride is None else stride
    pool = (avg_pool1d, avg_pool2d, avg_pool3d)[_dims - 1]
    mean = pool(input.pow(norm_type), kernel, step, 0, ceil_mode)
    # Roots of what rounding made negative would be NaN.
    return (mean.sign() * mean.abs().relu()).mul(math.prod(kernel)).pow(1.0 / norm_type)


lp_pool1d = variant(_lp_pool, "lp_pool1d", _dims=1)
lp_pool2d = variant(_lp_pool, "lp_pool2d", _dims=2)
lp_pool3d = variant(_lp_pool, "lp_pool3d", _dims=3)
