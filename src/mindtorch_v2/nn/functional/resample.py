"""Interpolation and sampling grids."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from ..._C import _functions
from . import pool

__all__ = ["affine_grid", "grid_sample", "interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

_SAMPLE_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}
# The kernel's name of each mode, and the number of spatial dimensions it is for (0: any).
_INTERPOLATIONS = {
    "nearest": ("nearest", 0),
    "nearest-exact": ("nearest-exact", 0),
    "linear": ("linear", 1),
    "bilinear": ("linear", 2),
    "trilinear": ("linear", 3),
    "bicubic": ("cubic", 2),
}
_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"


def _factors(input: torch.Tensor, size: Any, scale_factor: Any) -> tuple[list[int], list[float] | None]:
    """The output's size, and the factors if those were given; one number per spatial dimension."""
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given, name, order = (
        (size, "output size of", "output size in (o1, o2, ...,oK)")
        if size is not None
        else (scale_factor, "scale_factor of shape", "scale_factor in (s1, s2, ...,sK)")
    )
    if not isinstance(given, Sequence):
        given = [given] * dims
    if len(given) != dims:
        raise ValueError(
            f"Input and {'output' if size is not None else 'scale_factor'} must have the same number of "
            f"spatial dimensions, but got input with spatial dimensions of {list(input.shape[2:])} and "
            f"{name} {given}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and {order} "
            "format."
        )
    if size is not None:
        return list(given), None
    return [math.floor(input.size(d + 2) * float(scale)) for d, scale in enumerate(given)], list(given)


def _area(input: torch.Tensor, size: list[int]) -> torch.Tensor:
    dims = input.dim() - 2
    pools = (pool.adaptive_avg_pool1d, pool.adaptive_avg_pool2d, pool.adaptive_avg_pool3d)
    return pools[dims - 1](input, size)


def interpolate(
    input: torch.Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> torch.Tensor:
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | "
                "bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    sizes, scales = _factors(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if recompute_scale_factor:
        scales = None
    if antialias and not (mode in ("bilinear", "bicubic") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
            "tensor as input"
        )
    if input.dim() in (3, 4, 5) and mode == "area":
        return _area(input, sizes)
    if input.dim() not in (3, 4, 5) or mode not in _INTERPOLATIONS:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: "
            f"{_MODES} (got {mode})"
        )
    kind, dims = _INTERPOLATIONS[mode]
    if dims and input.dim() != dims + 2:
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {dims + 2}D input")
    if antialias:
        kind += "-aa"
    factors = [float(scale) for scale in scales] if scales is not None else [0.0] * (input.dim() - 2)
    return _functions._interpolate(input, sizes, kind, bool(align_corners), factors)


def upsample(
    input: torch.Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> torch.Tensor:
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: torch.Tensor, size: Any = None, scale_factor: Any = None) -> torch.Tensor:
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: torch.Tensor, size: Any = None, scale_factor: Any = None) -> torch.Tensor:
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _corners(align_corners: bool | None) -> bool:
    """``align_corners``, with a warning to those who have not said what they want."""
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
            "Please specify align_corners=True if the old behavior is desired. See the documentation of "
            "grid_sample for details.",
            stacklevel=3,
        )
    return bool(align_corners)


def grid_sample(
    input: torch.Tensor,
    grid: torch.Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> torch.Tensor:
    if mode not in _SAMPLE_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: "
            f"'{mode}'"
        )
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    corners = _corners(align_corners)
    return _functions.grid_sampler(input, grid, _SAMPLE_MODES[mode], _PADDING_MODES[padding_mode], corners)


def affine_grid(theta: torch.Tensor, size: Any, align_corners: bool | None = None) -> torch.Tensor:
    corners = _corners(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}"
        )
    dims = len(size) - 2
    if theta.dim() != 3 or theta.shape[-2] != dims or theta.shape[-1] != dims + 1:
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. "
            f"Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return _functions.affine_grid_generator(theta, list(size), corners)
