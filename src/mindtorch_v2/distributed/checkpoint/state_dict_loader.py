"""``load``: plan, read. Note [Failing together] in ``utils.py``."""

from __future__ import annotations

import warnings
from typing import Any

from ..._absent import names_of
from .. import objects
from ..process_group import ProcessGroup
from ..world import get_world_size, is_initialized
from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader
from .metadata import Metadata
from .planner import LoadPlan, LoadPlanner
from .state_dict_saver import alone
from .stateful import Stateful
from .storage import PathLike, StorageReader
from .utils import Coordination

__all__ = ["load", "load_state_dict"]


def _chosen(storage_reader: StorageReader | None, checkpoint_id: PathLike | None) -> StorageReader:
    if storage_reader is None:
        if not checkpoint_id:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
        return FileSystemReader(checkpoint_id)
    storage_reader.reset(checkpoint_id)
    return storage_reader


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """The older name of ``load``."""
    warnings.warn(
        "`load_state_dict` is deprecated and will be removed in future versions. Please use `load` instead.",
        FutureWarning,
        stacklevel=2,
    )
    storage_reader.reset()
    _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: PathLike | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:
    """Fills a state from a checkpoint, saved by any number of processes. All processes of the group call it.

    Tensors are loaded in place, other values are replaced, and objects with ``load_state_dict`` get what is theirs.
    """
    no_dist = alone(no_dist, "load")
    reader = _chosen(storage_reader, checkpoint_id)
    keys = list(state_dict) if no_dist else _same_order(state_dict, process_group)
    states = {}
    for key in keys:  # states may take messages to make: in one order everywhere
        if key in state_dict:
            value = state_dict[key]
            states[key] = value.state_dict() if isinstance(value, Stateful) else value
    _load_state_dict(states, reader, process_group, 0, no_dist, planner)
    for key in keys:
        if key not in state_dict:
            continue
        value = state_dict[key]
        if isinstance(value, Stateful):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def _same_order(state_dict: dict[str, Any], group: ProcessGroup | None) -> list[str]:
    """The keys of all processes."""
    known: list[list[str]] = [[] for _ in range(get_world_size(group))]
    objects.all_gather_object(known, list(state_dict), group=group)
    return sorted({key for keys in known for key in keys})


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    together = Coordination(process_group, not no_dist, coordinator_rank)
    planning = planner or DefaultLoadPlanner()

    def need() -> LoadPlan:
        metadata = _metadata(storage_reader, together.rank)
        planning.set_up_planner(state_dict, metadata, together.is_coordinator)
        storage_reader.set_up_storage_reader(metadata, together.is_coordinator)
        return storage_reader.prepare_local_plan(planning.create_local_plan())

    def decide(plans: list[LoadPlan]) -> list[LoadPlan]:
        return storage_reader.prepare_global_plan(planning.create_global_plan(plans))

    plan = together.share_out("plan", need, decide)

    def read() -> None:
        storage_reader.read_data(planning.finish_plan(plan), planning).wait()

    together.agree("read", read, lambda results: None)


def _metadata(reader: StorageReader, rank: int) -> Metadata:
    """Of the checkpoint, or of what this process saved without the others."""
    try:
        return reader.read_metadata()
    except FileNotFoundError:
        if not isinstance(reader, FileSystemReader) or not reader.has_metadata_of(rank):
            raise
        return reader.read_metadata(rank=rank)


def _load_state_dict_from_keys(
    keys: set[str] | str | None = None,
    *,
    checkpoint_id: PathLike | None = None,
    storage_reader: StorageReader | None = None,
    process_group: ProcessGroup | None = None,
) -> dict[str, Any]:
    """A state with all that a checkpoint has, or what is named, whole on this process."""
    reader = _chosen(storage_reader, checkpoint_id)
    state: dict[str, Any] = {}
    planner = _EmptyStateDictLoadPlanner(keys={keys} if isinstance(keys, str) else keys)
    _load_state_dict(state, reader, process_group, 0, not is_initialized(), planner)
    return state


__getattr__ = names_of(__name__)
