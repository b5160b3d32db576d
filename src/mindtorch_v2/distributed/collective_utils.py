"""Collectives of what a function gives, which tell all processes when it fails in one.

An error in one process before a collective leaves the others waiting. Here the error is sent in the place of the value,
so that everybody raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .objects import all_gather_object, broadcast_object_list
from .process_group import ProcessGroup

__all__ = ["SyncPayload", "all_gather", "all_gather_object_enforce_type", "broadcast"]

T = TypeVar("T")


@dataclass
class SyncPayload(Generic[T]):
    """What is sent: a value, or why there is none."""

    stage_name: str | None
    success: bool
    payload: T
    exception: Exception | None = None


def _made(data_or_fn: Any, success: bool, stage_name: str | None) -> SyncPayload[Any]:
    if not callable(data_or_fn):
        return SyncPayload(stage_name, success, data_or_fn)
    try:
        return SyncPayload(stage_name, success, data_or_fn())
    except Exception as error:  # noqa: BLE001 - every process raises it
        return SyncPayload(stage_name, False, None, error)


def broadcast(
    data_or_fn: T | Callable[[], T],
    *,
    success: bool = True,
    stage_name: str | None = None,
    rank: int = 0,
    pg: ProcessGroup | None = None,
) -> T:
    """The value of one, or what its function gives there. Without a group there is only this process.

    ``success=False`` with None says that there is no value; then, and when the function raises, all raise.
    """
    if not success and data_or_fn is not None:
        raise AssertionError("Data or Function is expected to be None if not successful")
    here = rank == (0 if pg is None else pg.rank())
    sent = [_made(data_or_fn, success, stage_name) if here else SyncPayload(stage_name, success, None)]
    if pg is not None:
        broadcast_object_list(sent, group=pg, group_src=rank)
    got = sent[0]
    if not got.success:
        said = [f"Rank {rank} failed"]
        said += [f"stage {got.stage_name}"] if stage_name is not None else []
        said += [f"exception {got.exception}"] if got.exception is not None else []
        raise RuntimeError(": ".join(said)) from got.exception
    value: T = got.payload
    return value


def all_gather(
    data_or_fn: T | Callable[[], T], stage_name: str | None = None, pg: ProcessGroup | None = None
) -> list[T]:
    """The values of all, or what the function gives in each; all raise if one fails, or is at another stage."""
    own = _made(data_or_fn, True, stage_name)
    if pg is None:
        if not own.success:
            raise RuntimeError(f"all_gather failed with exception {own.exception}") from own.exception
        return [own.payload]
    every: list[SyncPayload[Any]] = [own] * pg.size()
    all_gather_object_enforce_type(pg, every, own)
    elsewhere = [
        f"Unexpected stage name received from rank {number}: {each.stage_name} "
        for number, each in enumerate(every)
        if each.stage_name != every[0].stage_name
    ]
    failed = [(number, each.exception) for number, each in enumerate(every) if each.exception is not None]
    if elsewhere or failed:
        raise RuntimeError("".join(elsewhere), failed) from (failed[0][1] if failed else None)
    return [each.payload for each in every]


def _of_one_type(first: Any, other: Any) -> bool:
    return type(first) is type(other)


def all_gather_object_enforce_type(
    pg: ProcessGroup,
    object_list: list[Any],
    obj: Any,
    type_checker: Callable[[Any, Any], bool] = _of_one_type,
) -> None:
    """``all_gather_object`` of objects that must be of one type; ``type_checker`` compares each with the first."""
    all_gather_object(object_list, obj, group=pg)
    for number, each in enumerate(object_list):
        if not type_checker(object_list[0], each):
            raise TypeError(
                f"Object type at index {number} is {type(each)}, while first object type is {type(object_list[0])}"
            )
