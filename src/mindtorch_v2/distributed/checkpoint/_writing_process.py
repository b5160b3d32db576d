"""A process that writes checkpoints, so that the program's own computes undisturbed.

Note [What the process does]
The processes of the program agree on a plan, among themselves, as they do for any checkpoint: groups and meshes are
theirs. What takes long is turning tensors into bytes and writing them, and that is what this process is given: the
writer, the plan, and the values of its items, whose memory is shared and not sent. There is one for each process of the
program, which stays for the next checkpoint; when it dies, saving fails as it does when a disk is full.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Any

from ... import multiprocessing  # noqa: F401  tensors between processes
from ..._C import Tensor
from .planner import SavePlan, SavePlanner
from .storage import StorageWriter, WriteResult


class _Resolved(SavePlanner):
    """The values of a plan's items, by their place in it."""

    def __init__(self, plan: SavePlan, values: list[Any]) -> None:
        self._values = {item.index: value for item, value in zip(plan.items, values, strict=True)}

    def resolve_data(self, write_item: Any) -> Any:
        return self._values[write_item.index]

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("the plan was made by the program's process")

    set_up_planner = create_local_plan = create_global_plan = finish_plan = _refuse


@cache
def _process() -> ProcessPoolExecutor:
    """Spawned: a copy of a process that has used a device or has threads would not work."""
    return ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=_begin, initargs=(os.getpid(),)
    )


def _begin(program: int) -> None:
    """Ends with the program, however that ends."""
    import ctypes
    import signal

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != program:
        os._exit(1)


def _write(
    writer: StorageWriter, plan: SavePlan, values: list[Any]
) -> tuple[list[WriteResult], dict[str, Any]]:
    results = writer.write_data(plan, _Resolved(plan, values)).wait()
    return results, vars(writer)


def write_elsewhere(writer: StorageWriter, plan: SavePlan, planner: SavePlanner) -> list[WriteResult]:
    """``writer.write_data``, in the other process. Note [What the process does]."""
    values = [planner.resolve_data(item) for item in plan.items]
    plain = [value.detach().cpu() if isinstance(value, Tensor) else value for value in values]
    try:
        results, state = _process().submit(_write, writer, plan, plain).result()
    except BaseException:
        if _process()._broken:
            _process.cache_clear()  # the next checkpoint gets another one
        raise
    vars(writer).update(state)  # what it has noted, such as the names of its files
    return results
