"""Sampling grids."""

from __future__ import annotations

import mindtorch_v2 as torch


def _coordinates(size: int, align_corners: bool, like: torch.Tensor) -> torch.Tensor:
    """Centres of `size` cells between -1 and 1, or with the outermost on the border."""
    if size <= 1:
        return torch.zeros(max(size, 0), dtype=like.dtype, device=like.device)
    steps = torch.arange(size, dtype=like.dtype, device=like.device)
    if align_corners:
        return steps * (2 / (size - 1)) - 1
    return (steps * 2 + 1) / size - 1


def affine_grid_generator(theta: torch.Tensor, size: list[int], align_corners: bool) -> torch.Tensor:
    spatial = list(size)[2:]
    if len(spatial) not in (2, 3):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    dims = len(spatial)
    wanted = [size[0], dims, dims + 1]
    if list(theta.shape) != wanted:
        raise RuntimeError(f"Expected a batch of affine matrices of shape {wanted}, got {list(theta.shape)}.")
    # x first, the last spatial dimension, then y, z, and a one for the translation.
    parts = []
    for dim in reversed(range(dims)):
        shape = [1] * dims
        shape[dim] = spatial[dim]
        parts.append(_coordinates(spatial[dim], align_corners, theta).reshape(shape).expand(spatial))
    parts.append(torch.ones(spatial, dtype=theta.dtype, device=theta.device))
    base = torch.stack(parts, -1).reshape(1, -1, dims + 1).expand(size[0], -1, dims + 1)
    return base.matmul(theta.transpose(1, 2)).reshape(size[0], *spatial, dims)
