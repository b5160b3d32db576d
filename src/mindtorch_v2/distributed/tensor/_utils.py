"""Shapes of parts, under the names that libraries import."""

from __future__ import annotations

from collections.abc import Sequence

from ..device_mesh import DeviceMesh
from ._redistribute import local_shape_and_offset
from .placement_types import Placement


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this process's part, and where it begins in the whole."""
    return local_shape_and_offset(global_shape, mesh, placements)


def compute_local_shape(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[int, ...]:
    """The shape of this process's part."""
    return local_shape_and_offset(global_shape, mesh, placements)[0]
