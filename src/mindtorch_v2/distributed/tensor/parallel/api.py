"""Applying styles to the parts of a model by name."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch

from .... import nn
from ...device_mesh import DeviceMesh
from .style import ParallelStyle


def parallelize_module(
    module: nn.Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> nn.Module:
    """Makes a module parallel by a style, or parts of it by a style for each pattern of names."""
    if device_mesh is None:
        raise ValueError("device_mesh was not given: make one with init_device_mesh(device, (processes,))")
    if device_mesh.ndim != 1:
        raise ValueError(
            f"tensor parallelism works along one dimension of a mesh, and {device_mesh} has {device_mesh.ndim}"
        )
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment.", stacklevel=2
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, device_mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            f"parallelize_plan is a ParallelStyle or a dict of them, and a {type(parallelize_plan).__name__} was given"
        )
    for pattern, style in parallelize_plan.items():
        matched = _matching(module, pattern.split(".") if pattern else [])
        if not matched:
            warnings.warn(
                f"parallelize_plan names {pattern!r}, and the module has no such part", stacklevel=2
            )
        for part in matched:
            parallelize_module(part, device_mesh, style, src_data_rank=src_data_rank)
    return module


def _matching(module: nn.Module, atoms: list[str]) -> list[nn.Module]:
    if not atoms:
        return [module]
    return [
        found
        for name, child in module.named_children()
        if fnmatch(name, atoms[0])
        for found in _matching(child, atoms[1:])
    ]
