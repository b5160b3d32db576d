"""``torch.distributed.device_mesh``: processes in rows and columns, with a group for each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _C
from .._absent import names_of
from .._C import Tensor, _functions
from .._creation import tensor as make_tensor
from .process_group import ProcessGroup
from .world import (
    default_group,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    new_group,
)

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """The ranks of processes as an array. Along each dimension, this process and those beside it are a group."""

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: Any = None,
        _init_backend: bool = True,
        _groups: list[ProcessGroup] | None = None,
        _root: DeviceMesh | None = None,
    ) -> None:
        if isinstance(mesh, Tensor) and mesh.device.type != "cpu":
            raise ValueError(f"`mesh` must be a CPU tensor, got {mesh}")
        self.device_type = device_type
        self.mesh: Tensor = (
            mesh.to(_C.int32) if isinstance(mesh, Tensor) else make_tensor(mesh, dtype=_C.int32, device="cpu")
        )
        self.mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names else None
        if self.mesh_dim_names is not None and len(self.mesh_dim_names) != self.mesh.dim():
            raise RuntimeError(
                f"mesh_dim_names {self.mesh_dim_names} must have a name for each of the {self.mesh.dim()} dimensions"
            )
        self._root = _root
        self._flattened: dict[str, DeviceMesh] = {}
        self._own_groups = _groups or []
        # Nothing carries messages between tensors without values, except in planning.
        plans = is_initialized() and "meta" in default_group()._engines
        if _groups is None and _init_backend and (device_type != "meta" or plans):
            self._start()
            self._own_groups = self._made_groups(backend_override or {})

    def _start(self) -> None:
        if not is_initialized():
            init_process_group()
        size, wanted = get_world_size(), self.mesh.numel()
        if wanted > size:
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {size}, but found {wanted} ranks!"
            )

    def _lines(self, dim: int) -> list[list[int]]:
        """The ranks along a dimension, one list for each place in the others."""
        length = self.mesh.shape[dim]
        lines: list[list[int]] = self.mesh.movedim(dim, -1).reshape(-1, length).tolist()
        return lines

    def _made_groups(self, overrides: dict[Any, Any]) -> list[ProcessGroup]:
        """The group of this process along each dimension; all processes make all groups, in one order."""
        world, found = default_group(), []
        for dim in range(self.mesh.dim()):
            name = self.mesh_dim_names[dim] if self.mesh_dim_names else str(dim)
            backend = overrides.get(dim, overrides.get(name))
            if self.mesh.dim() == 1 and self.mesh.numel() == world.size() and backend is None:
                found.append(world)
                continue
            for ranks in self._lines(dim):
                made = new_group(ranks, backend=backend, group_desc=f"mesh_{name}")
                if world.rank() in ranks:
                    found.append(made)
        return found

    def __repr__(self) -> str:
        sizes = [str(size) for size in self.mesh.shape]
        if self.mesh_dim_names:
            sizes = [f"{name}={size}" for name, size in zip(self.mesh_dim_names, sizes, strict=True)]
        return f"DeviceMesh(({', '.join(sizes)}), '{self.device_type}', stride={tuple(self.mesh.stride())})"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, DeviceMesh)
            and self.device_type == other.device_type
            and self.mesh_dim_names == other.mesh_dim_names
            and self.mesh.shape == other.mesh.shape
            and self.mesh.tolist() == other.mesh.tolist()
        )

    def __hash__(self) -> int:
        ranks = tuple(self.mesh.flatten().tolist())
        return hash((self.device_type, self.mesh_dim_names, tuple(self.mesh.shape), ranks))

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return self.mesh.dim()

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, or along a dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.shape[mesh_dim]

    def get_rank(self) -> int:
        """The rank of this process among all."""
        return get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this process stands; nothing if it is not in the mesh."""
        found = (self.mesh == get_rank()).nonzero().tolist()
        return tuple(found[0]) if found else None

    def _dim(self, mesh_dim: int | str | None, more: str = "") -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                    *([more] if more else []),
                )
            return 0
        if isinstance(mesh_dim, str):
            if mesh_dim not in (self.mesh_dim_names or ()):
                raise KeyError(
                    f"Mesh dimension '{mesh_dim}' does not exist; the names are {self.mesh_dim_names}"
                )
            return (self.mesh_dim_names or ()).index(mesh_dim)
        return mesh_dim

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group along a dimension."""
        if isinstance(mesh_dim, str) and mesh_dim in self._names_of_flattened():
            return self._names_of_flattened()[mesh_dim].get_group()
        more = "If you want all of them, please use `get_all_groups()` instead."
        if not self._own_groups:
            raise RuntimeError("DeviceMesh process groups not initialized: this process is not in the mesh")
        return self._own_groups[self._dim(mesh_dim, more)]

    def get_all_groups(self) -> list[ProcessGroup]:
        """The group along each dimension."""
        return list(self._own_groups)

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The place of this process along a dimension."""
        return self.get_group(self._dim(mesh_dim)).rank()

    def _get_root_mesh(self) -> DeviceMesh:
        return self if self._root is None else self._root

    def _names_of_flattened(self) -> dict[str, DeviceMesh]:
        return self._get_root_mesh()._flattened

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The mesh of some dimensions, at the place where this process stands in the others."""
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        wanted = (names,) if isinstance(names, str) else tuple(names)
        if len(wanted) == 1 and wanted[0] in self._names_of_flattened():
            return self._names_of_flattened()[wanted[0]]
        if wanted == self.mesh_dim_names:
            return self
        if not wanted or any(name not in self.mesh_dim_names for name in wanted):
            valid = [*self.mesh_dim_names, *self._names_of_flattened()]
            raise KeyError(f"Invalid mesh_dim_names {wanted} specified. Valid mesh_dim_names are {valid}.")
        dims = [self.mesh_dim_names.index(name) for name in wanted]
        here = self.get_coordinate() or (0,) * self.ndim
        part = self.mesh
        for dim in reversed(range(self.ndim)):
            if dim not in dims:
                part = part.select(dim, here[dim])
        order = sorted(range(len(dims)), key=lambda index: dims[index])
        part = part.permute([order.index(index) for index in range(len(dims))])
        groups = [self._own_groups[dim] for dim in dims] if self._own_groups else []
        return DeviceMesh(
            self.device_type, part, mesh_dim_names=wanted, _groups=groups, _root=self._get_root_mesh()
        )

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """A mesh of one dimension with the processes of all dimensions of this one."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        root = self._get_root_mesh()
        if name in root._flattened:
            return root._flattened[name]
        # Every process makes every group: those of the other places of the root mesh are made too.
        kept = [
            dim for dim in range(root.ndim) if (root.mesh_dim_names or ())[dim] in (self.mesh_dim_names or ())
        ]
        rest = [dim for dim in range(root.ndim) if dim not in kept]
        lines = root.mesh.permute([*rest, *kept]).reshape(-1, math.prod(self.shape)).tolist()
        own = None
        for ranks in lines:
            made = new_group(ranks, group_desc=f"mesh_{name}")
            if get_rank() in ranks:
                own = (made, ranks)
        ranks = own[1] if own else self.mesh.flatten().tolist()
        flat = DeviceMesh(
            self.device_type, ranks, mesh_dim_names=(name,), _groups=[own[0]] if own else [], _root=root
        )
        root._flattened[name] = flat
        return flat

    @staticmethod
    def from_group(
        group: ProcessGroup | list[ProcessGroup],
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
    ) -> DeviceMesh:
        """A mesh of groups that are there: one, or one for each dimension of ``mesh``."""
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        if not groups:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if mesh is None:
            if len(groups) != 1:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            mesh = list(groups[0].ranks)
        made = DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=groups)
        if made.ndim != len(groups):
            raise ValueError(
                f"Expects a dimension of mesh for each ProcessGroup but got {made.ndim} and {len(groups)}"
            )
        return made


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: dict[Any, Any] | None = None,
) -> DeviceMesh:
    """A mesh of that shape with all processes, counted along the last dimension first."""
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                "Each mesh_dim_name must be unique.", f"Found repeated names in {mesh_dim_names}"
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length!",
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}.",
            )
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    ranks = _functions.arange(math.prod(mesh_shape), dtype=_C.int32, device="cpu").view(list(mesh_shape))
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, backend_override=backend_override)


__getattr__ = names_of(__name__)
