"""The groups of this process: making, finding and ending them."""

from __future__ import annotations

import atexit
import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar

from . import backends
from .backends import Backend, BackendConfig
from .constants import default_pg_timeout
from .engine import Engine, Place
from .engines import mpi
from .flight_recorder.watch import Watch
from .process_group import ProcessGroup
from .rendezvous import WorldStore, checked, rendezvous
from .stores import HashStore, PrefixStore, Store

__all__ = [
    "GroupMember", "destroy_process_group", "get_backend", "get_backend_config", "get_global_rank", "get_group_rank",
    "get_node_local_rank", "get_pg_count", "get_process_group_ranks", "get_rank", "get_world_size", "group",
    "init_process_group", "is_initialized", "new_group", "new_subgroups", "new_subgroups_by_enumeration", "split_group",
]  # fmt: skip

_NOT_YET = "Default process group has not been initialized, please make sure to call init_process_group."


class group:
    """The group of all processes is ``group.WORLD``."""

    WORLD: ClassVar[ProcessGroup | None] = None


class GroupMember(group):
    """What :func:`new_group` gives processes outside the group."""

    NON_GROUP_MEMBER = -100


class _World:
    """What this process knows of its groups."""

    def __init__(self) -> None:
        self.store: Store | None = None
        self.groups: dict[str, ProcessGroup] = {}
        self.numbers = itertools.count()
        self.alone: Counter[tuple[int, ...]] = Counter()  # groups that only their members made
        self.timeout = default_pg_timeout
        self.backend: str | None = None
        self.watch: Watch | None = None


_world = _World()


def is_initialized() -> bool:
    """Whether the group of all processes is there."""
    return group.WORLD is not None


def default_group() -> ProcessGroup:
    """The group of all processes."""
    if group.WORLD is None:
        raise ValueError(_NOT_YET)
    return group.WORLD


def default_store() -> Store:
    """The store through which the processes found each other."""
    default_group()
    assert _world.store is not None
    return _world.store


def resolved(given: Any) -> ProcessGroup:
    """A group that a function was given: none is that of all processes."""
    if given is None:
        return default_group()
    if not isinstance(given, ProcessGroup):
        raise ValueError(f"Invalid process group specified: {given}; this process may be no member of it")
    return given


def by_name(name: str) -> ProcessGroup:
    """The group of this name."""
    found = _world.groups.get(name)
    if found is None:
        raise ValueError(f"Could not resolve the process group registered under the name {name}")
    return found


def _set_default(made: ProcessGroup | None) -> None:
    group.WORLD = GroupMember.WORLD = made


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: list[int] | None = None,
) -> None:
    """Finds the other processes and makes the group of all."""
    global _world
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None and world_size <= 0:
        raise AssertionError("world_size must be positive if using store")
    if store is not None and rank < 0:
        raise AssertionError("rank must be non-negative if using store")
    if store is not None:
        checked(rank, world_size)
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    names = backends.chosen(backend)
    limit = timeout or getattr(pg_options, "_timeout", None) or default_pg_timeout
    if set(names.values()) == {"mpi"}:
        rank, world_size = mpi.world()
        store = store or WorldStore(mpi.shared_store(), world_size, serves=rank == 0)
    elif set(names.values()) == {"fake"}:
        store, rank, world_size = store or HashStore(), max(rank, 0), max(world_size, 1)
    elif store is None:
        store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout=limit))
    store.set_timeout(limit)
    _world.store, _world.timeout, _world.backend = store, limit, backend
    try:
        made = _make(str(next(_world.numbers)), tuple(range(world_size)), rank, names, limit, "default_pg")
    except BaseException:
        _world = _World()
        if isinstance(store, WorldStore):
            store.withdraw()
        raise
    made.bound_device_id = device_id
    _set_default(made)
    if world_size > 1 and not isinstance(store, HashStore):
        _world.watch = Watch(store, rank, _world.groups)
    atexit.unregister(_end)
    atexit.register(_end)


def _make(
    name: str, ranks: tuple[int, ...], rank: int, names: dict[str, str], timeout: timedelta, description: str
) -> ProcessGroup:
    """A group of these processes, of which this one is a member."""
    assert _world.store is not None
    store = PrefixStore(f"group {name}", _world.store)
    place = Place(ranks.index(rank), len(ranks), ranks, store, timeout, name)
    made: dict[str, Engine] = {}
    for library in names.values():
        if library not in made:
            own = Place(place.rank, place.size, ranks, PrefixStore(library, store), timeout, name)
            made[library] = backends.engine(library, own)
    engines = {kind: made[library] for kind, library in names.items()}
    backend = next(iter(made)) if len(made) == 1 else ",".join(f"{kind}:{lib}" for kind, lib in names.items())
    _world.groups[name] = ProcessGroup(place, engines, backend, description)
    return _world.groups[name]


def _check_ranks(members: list[int], world: ProcessGroup) -> None:
    for member in members:
        if not 0 <= member < world.size():
            raise ValueError(
                f"Rank {member} is out of range. Valid ranks are 0 to {world.size() - 1} (world_size={world.size()})"
            )
    if len(set(members)) != len(members):
        raise ValueError(f"ranks list must not contain duplicate entries, got {members}")
    if not members:
        raise ValueError("ranks list must name at least one process")


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some of the processes. All processes call it, in one order, or with ``use_local_synchronization``
    its members alone."""
    world = default_group()
    members = list(range(world.size())) if ranks is None else [int(rank) for rank in ranks]
    _check_ranks(members, world)
    if sort_ranks:
        members.sort()
    key = tuple(members)
    if use_local_synchronization:
        if world.rank() not in key:
            return None
        _world.alone[key] += 1
        name = hashlib.sha1(f"{key} {_world.alone[key]}".encode(), usedforsecurity=False).hexdigest()
    else:  # processes make their groups in one order, so the number is the same everywhere
        name = str(next(_world.numbers))
        if world.rank() not in key:
            return GroupMember.NON_GROUP_MEMBER
    names = backends.chosen(backend or _world.backend)
    limit = timeout or getattr(pg_options, "_timeout", None) or _world.timeout
    made = _make(name, key, world.rank(), names, limit, group_desc or "undefined")
    made.bound_device_id = device_id
    return made


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | None:
    """Cuts a group into parts, given as ranks of the parent; gives the part that has this process, if one has."""
    parent = resolved(parent_pg)
    if not split_ranks or any(not part for part in split_ranks):
        raise ValueError("split_ranks cannot be None or empty, and none of its parts may be")
    own = None
    seen: set[int] = set()
    for part in split_ranks:
        if seen & set(part) or not all(0 <= rank < parent.size() for rank in part):
            raise ValueError(
                f"split_ranks must be parts of {parent.size()} ranks, none twice, got {split_ranks}"
            )
        seen |= set(part)
        ranks = [parent.ranks[rank] for rank in part]
        name = backend or (_world.backend if parent is default_group() else parent.name())
        if parent.rank() in part:
            description = group_desc or f"{parent.group_desc}:split"
            own = new_group(ranks, timeout or parent.timeout, name, pg_options, True, description)
    return own


def destroy_process_group(group: Any = None) -> None:
    """Ends a group; without one, or that of all processes: all groups."""
    global _world
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    if group is None and not is_initialized():
        raise AssertionError("Process group cannot be None")
    found = resolved(group)
    if found.group_name not in _world.groups:
        raise ValueError(f"Invalid process group specified: {found} was destroyed before")
    if found is not default_group():
        _world.groups.pop(found.group_name).close()
        return
    if _world.watch is not None:
        _world.watch.close()
    for each in reversed(list(_world.groups.values())):
        each.close()
    if isinstance(_world.store, WorldStore):
        _world.store.leave()
    _set_default(None)
    _world = _World()


def _end() -> None:
    """Of the process: nobody waits for what is not done."""
    if _world.watch is not None:
        _world.watch.close()
        _world.watch.look()
    for each in reversed(list(_world.groups.values())):
        each.abort()


def get_rank(group: Any = None) -> int:
    """The rank of this process in the group; -1 if it is no member."""
    return -1 if group is GroupMember.NON_GROUP_MEMBER else resolved(group).rank()


def get_world_size(group: Any = None) -> int:
    """How many processes the group has; -1 if this one is no member."""
    return -1 if group is GroupMember.NON_GROUP_MEMBER else resolved(group).size()


def get_backend(group: Any = None) -> Backend:
    """The name of the group's library."""
    return Backend(resolved(group).name())


def get_backend_config(group: Any = None) -> str:
    """The library of each kind of device."""
    return str(BackendConfig(get_backend(group)))


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank among all processes of a member."""
    found = resolved(group)
    if found is default_group():
        return group_rank
    if not 0 <= group_rank < found.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {found}")
    return found.ranks[group_rank]


def get_group_rank(group: Any, global_rank: int) -> int:
    """The rank in the group of one of all processes."""
    found = resolved(group)
    if found is default_group():
        return global_rank
    if global_rank not in found.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {found}")
    return found.ranks.index(global_rank)


def get_process_group_ranks(group: Any) -> list[int]:
    """The members among all processes."""
    return list(resolved(group).ranks)


def get_pg_count() -> int:
    """How many groups this process is in."""
    return len(_world.groups)


def information() -> dict[str, Any]:
    """What a trace says of the groups of this process, under PyTorch's names."""
    world = default_group()
    return {
        "backend": world.name(),
        "rank": world.rank(),
        "world_size": world.size(),
        "pg_count": get_pg_count(),
        "pg_config": [
            {
                "pg_name": each.group_name,
                "pg_desc": each.group_desc,
                "backend_config": str(BackendConfig(Backend(each.name()))),
                "pg_size": each.size(),
                "ranks": list(each.ranks),
            }
            for each in _world.groups.values()
        ],
    }


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its machine, which the launcher tells."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of neighbours; gives this process's and all of them."""
    size = get_world_size()
    if group_size is None:
        raise ValueError("Please pass in 'group_size': how many processes a group has")
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if group_size > size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by '{group_size=}'")
    parts = [list(range(start, start + group_size)) for start in range(0, size, group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of these processes; gives this process's and all of them."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: dict[int, int] = {}
    own, made = None, []
    for number, ranks in enumerate(ranks_per_subgroup_list):
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {seen[rank]} and {number}")
            seen[rank] = number
        made.append(new_group(ranks, timeout, backend, pg_options, group_desc=group_desc))
        if get_rank() in ranks:
            own = made[-1]
    return own, made
