"""``save`` and ``async_save``: plan, write, finish. Note [Failing together] in ``utils.py``."""

from __future__ import annotations

import inspect
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from ..._absent import names_of
from ..distributed_c10d import is_gloo_available
from ..process_group import ProcessGroup
from ..world import default_group, get_backend, is_initialized, new_group
from ._writing_process import write_elsewhere
from .api import CheckpointException
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .metadata import Metadata
from .planner import SavePlan, SavePlanner
from .staging import AsyncStager, BlockingAsyncStager
from .stateful import Stateful
from .storage import PathLike, StorageWriter, WriteResult
from .utils import Coordination

__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(Enum):
    """What writes beside the program."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """When the state is copied, and when it is written."""

    staging_completion: Future[None]
    upload_completion: Future[Any]


def alone(no_dist: bool, what: str) -> bool:
    """Whether this process saves or loads by itself: it was told so, or has no group."""
    if no_dist or not is_initialized():
        warnings.warn(
            "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to "
            f"{what} in a single process.",
            stacklevel=3,
        )
        return True
    return False


def _chosen(storage_writer: StorageWriter | None, checkpoint_id: PathLike | None) -> StorageWriter:
    if storage_writer is None:
        if not checkpoint_id:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
        return FileSystemWriter(checkpoint_id)
    storage_writer.reset(checkpoint_id)
    return storage_writer


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    """The older name of ``save``."""
    warnings.warn(
        "`save_state_dict` is deprecated and will be removed in future versions.Please use `save` instead.",
        FutureWarning,
        stacklevel=2,
    )
    storage_writer.reset()
    return _save_state_dict(state_dict, storage_writer, process_group, coordinator_rank, no_dist, planner)


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: PathLike | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Saves a state of which each process holds a part. All processes of the group call it.

    Each writes what it alone has, and what several have is written once. When it returns the checkpoint is complete;
    when it raises, there is none, and the one that was there before still is.
    """
    no_dist = alone(no_dist, "save")
    writer = _chosen(storage_writer, checkpoint_id)
    return _save_state_dict(
        _states_of(state_dict), writer, process_group, 0, no_dist, planner, use_collectives=use_collectives
    )


def _states_of(state_dict: dict[str, Any]) -> dict[str, Any]:
    """With the states of objects in the place of the objects."""
    return {
        key: each.state_dict() if isinstance(each, Stateful) else each for key, each in state_dict.items()
    }


def _save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
    use_collectives: bool = True,
    elsewhere: bool = False,
) -> Metadata:
    together = Coordination(process_group, not no_dist, coordinator_rank)
    rank = together.rank
    if not use_collectives:  # each process saves what it has, and writes down its own metadata
        together = Coordination(None, False, 0)
    planning = planner or DefaultSavePlanner()
    made: dict[str, Metadata] = {}  # on the coordinator

    def offer() -> SavePlan:
        storage_writer.set_up_storage_writer(
            together.is_coordinator, rank=rank, use_collectives=use_collectives
        )
        told: dict[str, Any] = {"state_dict": state_dict, "is_coordinator": together.is_coordinator}
        if "storage_meta" in inspect.signature(planning.set_up_planner).parameters:  # older planners lack it
            told["storage_meta"] = storage_writer.storage_meta()
        planning.set_up_planner(**told)
        return storage_writer.prepare_local_plan(planning.create_local_plan())

    def decide(plans: list[SavePlan]) -> list[SavePlan]:
        plans, made["metadata"] = planning.create_global_plan(plans)
        return storage_writer.prepare_global_plan(plans)

    plan = together.share_out("plan", offer, decide)

    def write() -> list[WriteResult]:
        if elsewhere:
            return write_elsewhere(storage_writer, planning.finish_plan(plan), planning)
        return storage_writer.write_data(planning.finish_plan(plan), planning).wait()

    def finish(results: list[list[WriteResult]]) -> Metadata:
        storage_writer.finish(made["metadata"], results)
        return made["metadata"]

    try:
        metadata: Metadata = together.agree("write", write, finish)
    except CheckpointException:
        if isinstance(storage_writer, StorageWriter):
            storage_writer.discard()
        raise
    return metadata


# ---- beside the program ------------------------------------------------------------------------------


@cache
def _thread() -> ThreadPoolExecutor:
    """One for all, so that checkpoints are written in the order in which they were asked for."""
    return ThreadPoolExecutor(1, thread_name_prefix="checkpoint")


class _Groups:
    """The group whose messages are those of saving alone, of the present world."""

    world: ProcessGroup | None = None
    saving: ProcessGroup | None = None


def _saving_group() -> ProcessGroup:
    """Made by the first call: messages of the program and of saving must not be taken for each other."""
    world = default_group()
    if _Groups.world is not world or _Groups.saving is None:
        by_device = get_backend() not in ("gloo", "mpi")
        _Groups.saving = new_group(backend="gloo" if by_device and is_gloo_available() else None)
        _Groups.world = world
    assert _Groups.saving is not None
    return _Groups.saving


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: PathLike | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: ProcessGroup | None = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: AsyncStager | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Any] | AsyncSaveResponse:
    """Copies the state to host memory and writes it while the program goes on; ``result()`` waits and raises.

    A ``process_group`` of your own must not be used for anything else until then. By ``AsyncCheckpointerType.PROCESS``
    another process writes (Note [What the process does] in ``_writing_process.py``); programs that use it begin
    with ``if __name__ == "__main__":``, as with all processes that are spawned.
    """
    elsewhere = AsyncCheckpointerType(async_checkpointer_type) is AsyncCheckpointerType.PROCESS
    no_dist = no_dist or not is_initialized()
    writer = _chosen(storage_writer, checkpoint_id)
    if process_group is None and not no_dist and use_collectives:
        process_group = _saving_group()
    stager = async_stager
    if stager is None:
        stager = writer if isinstance(writer, AsyncStager) else BlockingAsyncStager()
    copied = stager.stage(_states_of(state_dict))

    def write() -> Metadata:
        state = copied.result() if isinstance(copied, Future) else copied
        return _save_state_dict(state, writer, process_group, 0, no_dist, planner, use_collectives, elsewhere)

    upload = _thread().submit(write)
    if not isinstance(copied, Future):
        if stager.should_synchronize_after_execute:
            stager.synchronize_staging()
        return upload
    staging: Future[None] = Future()
    copied.add_done_callback(lambda done: _follow(done, staging))
    return AsyncSaveResponse(staging, upload)


def _follow(done: Future[Any], staging: Future[None]) -> None:
    error = done.exception()
    if error is None:
        staging.set_result(None)
    else:
        staging.set_exception(error)


__getattr__ = names_of(__name__)
