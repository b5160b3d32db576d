"""What happens to a module before ``FullyShardedDataParallel`` cuts it: a mesh, a device, memory, equal values."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ... import _C, nn
from ..._C import Tensor
from ...accelerator import current_accelerator
from .. import collectives
from ..device_mesh import DeviceMesh
from ..objects import all_gather_object
from ..process_group import ProcessGroup
from ..world import default_group, get_rank, new_group
from .api import ShardingStrategy

_HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
_meshes: weakref.WeakKeyDictionary[ProcessGroup, dict[Any, DeviceMesh]] = weakref.WeakKeyDictionary()


@dataclass
class Ignored:
    """What a wrapper leaves alone."""

    modules: set[nn.Module]
    parameters: set[Any]


def ignored_of(
    module: nn.Module, modules: Iterable[nn.Module] | None, states: Iterable[Any] | None
) -> Ignored:
    """All that ``ignored_modules`` and ``ignored_states`` mean."""
    if modules is not None and states is not None:
        raise ValueError(
            "Cannot pass both ignored_modules and ignored_states at the same time. Please just pass ignored_states."
        )
    given = list(modules if modules is not None else states or ())
    roots = [each for each in given if isinstance(each, nn.Module)]
    parameters = {each for each in given if isinstance(each, Tensor)}
    for each in given:
        if not isinstance(each, (nn.Module, Tensor)):
            raise ValueError(
                f"ignored_states expects nn.Modules or nn.Parameters, and a {type(each).__name__} was given"
            )
    if module in roots:
        raise ValueError("the module that is wrapped is among the ignored ones")
    below = {part for root in roots for part in root.modules()}
    parameters |= {each for root in roots for each in root.parameters()}
    return Ignored(below, parameters)


def _device_of(module: nn.Module, device_id: int | _C.device | None, mesh: DeviceMesh | None) -> _C.device:
    known = next((each.device for each in module.parameters() if each.device.type != "meta"), None)
    if isinstance(device_id, int):
        accelerator = current_accelerator()
        if accelerator is None:
            raise ValueError(f"device_id={device_id} is a number of an accelerator, and there is none")
        return _C.device(accelerator.type, device_id)
    if device_id is not None:
        return _C.device(device_id)
    if known is not None:
        return known
    return _C.device(mesh.device_type if mesh is not None else "cpu")


def mesh_for(
    module: nn.Module,
    group: ProcessGroup | tuple[ProcessGroup, ProcessGroup] | None,
    strategy: ShardingStrategy,
    device_id: int | _C.device | None,
    mesh: DeviceMesh | None,
) -> tuple[DeviceMesh, _C.device]:
    """The mesh of a strategy (copies first, parts last), and the device that computes."""
    device = _device_of(module, device_id, mesh)
    if mesh is not None:
        if strategy in _HYBRID and mesh.ndim != 2:
            raise ValueError(f"{strategy} wants a mesh of two dimensions, (copies, parts), and got {mesh}")
        if strategy is ShardingStrategy.NO_SHARD and mesh.ndim == 1:
            return _mesh_of_copies(mesh.get_group(), device.type), device
        return mesh, device
    if strategy in _HYBRID:
        return _mesh_within_machines(group, device.type), device
    if isinstance(group, tuple):
        raise ValueError(f"a pair of groups is for HYBRID_SHARD, and the strategy is {strategy}")
    members = group or default_group()
    if strategy is ShardingStrategy.NO_SHARD:
        return _mesh_of_copies(members, device.type), device
    return _kept(members, ("parts", device.type), lambda: DeviceMesh.from_group(members, device.type)), device


def _kept(group: ProcessGroup, key: Any, make: Callable[[], DeviceMesh]) -> DeviceMesh:
    """All wrappers of a model share a mesh, and its groups."""
    known = _meshes.setdefault(group, {})
    if key not in known:
        known[key] = make()
    return known[key]


def _mesh_of_copies(group: ProcessGroup, kind: str) -> DeviceMesh:
    def make() -> DeviceMesh:
        alone = new_group([get_rank()], use_local_synchronization=True)
        return DeviceMesh(kind, [[rank] for rank in group.ranks], _groups=[group, alone])

    return _kept(group, ("copies", kind), make)


def _mesh_within_machines(
    groups: ProcessGroup | tuple[ProcessGroup, ProcessGroup] | None, kind: str
) -> DeviceMesh:
    if isinstance(groups, tuple):
        within, between = groups

        def of_pair() -> DeviceMesh:
            rows: list[Any] = [None] * between.size()
            all_gather_object(rows, list(within.ranks), group=between)
            return DeviceMesh(kind, rows, _groups=[between, within])

        return _kept(within, ("pair", kind), of_pair)
    if groups is not None:
        raise ValueError(
            "HYBRID_SHARD wants process_group=(within a machine, between machines), a device_mesh of two dimensions, "
            "or neither"
        )
    world = default_group()
    size = int(os.environ.get("LOCAL_WORLD_SIZE", world.size()))
    if world.size() % size:
        raise ValueError(f"{world.size()} processes are not a multiple of {size}, those of a machine")
    rows = [list(range(first, first + size)) for first in range(0, world.size(), size)]
    return _kept(world, ("machines", kind, size), lambda: DeviceMesh(kind, rows))


def own_modules(module: nn.Module, ignored: Ignored) -> Iterator[nn.Module]:
    """The module and what lies below it, without what other wrappers have."""
    if module in ignored.modules or "_fsdp_state" in vars(module):
        return
    yield module
    for child in module.children():
        yield from own_modules(child, ignored)


def materialize(
    module: nn.Module, ignored: Ignored, init: Callable[[nn.Module], Any] | None, device: _C.device
) -> None:
    """Gives parameters on meta memory, and brings all others to the device."""
    for part in list(own_modules(module, ignored)):
        own = [*part.parameters(recurse=False), *part.buffers(recurse=False)]
        if any(each.device.type == "meta" for each in own):
            if init is not None:
                init(part)
            else:
                part.to_empty(device=device, recurse=False)
                reset = getattr(part, "reset_parameters", None)
                if reset is None:
                    raise ValueError(
                        f"a {type(part).__name__} has parameters on meta and no reset_parameters(): give "
                        "FullyShardedDataParallel a param_init_fn that gives them values"
                    )
                reset()
        for parameter in part.parameters(recurse=False):
            if parameter not in ignored.parameters and parameter.device != device:
                parameter.data = parameter.data.to(device)


def convert_buffers(
    module: nn.Module, ignored: Ignored, device: _C.device, wanted: Any
) -> dict[tuple[int, str], Any]:
    """Brings buffers to the device and to their dtype; the dtypes that they had, by module and name."""
    had: dict[tuple[int, str], Any] = {}
    for part in own_modules(module, ignored):
        for name, buffer in list(part._buffers.items()):
            if buffer is None:
                continue
            kind = wanted if wanted is not None and buffer.is_floating_point() else buffer.dtype
            if kind != buffer.dtype:
                had[id(part), name] = buffer.dtype
            part._buffers[name] = buffer.to(device=device, dtype=kind)
    return had


def synchronize(module: nn.Module, ignored: Ignored, mesh: DeviceMesh) -> None:
    """All processes get the values of the first."""
    for part in own_modules(module, ignored):
        for value in (*part.parameters(recurse=False), *part.buffers(recurse=False)):
            if value in ignored.parameters:
                continue
            for dim in reversed(range(mesh.ndim)):
                if mesh.size(dim) > 1:
                    collectives.broadcast(value.detach(), group=mesh.get_group(dim), group_src=0)
