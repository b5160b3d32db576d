"""Steps that processes take together and that fail together, and looking things up in a state.

Note [Failing together]
A step has a part that each process does and one that the coordinator does with what came of it. Each process sends its
result or what went wrong; the coordinator goes on only if all went well, and tells all either what came of it or who
failed. So every process knows the same: after a ``CheckpointException`` nothing was finished. An error of the messages
themselves (a process was killed) is none: then a process does not know whether the coordinator finished.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..._absent import names_of
from ..._C import Tensor
from .. import objects
from ..process_group import ProcessGroup
from ..world import get_rank, get_world_size
from .api import CheckpointException as CheckpointException
from .metadata import MetadataIndex
from .planner_helpers import local_part

__all__ = ["find_state_dict_object", "find_tensor_shard"]


@dataclass
class _Failure:
    """What a process raised, in a form that can be sent."""

    error: BaseException
    stack: traceback.StackSummary

    def __init__(self, error: Exception) -> None:
        self.stack = traceback.extract_tb(error.__traceback__)
        try:
            pickle.loads(pickle.dumps(error))
            self.error = error
        except Exception:  # noqa: BLE001 - whatever a class of others does when it is pickled
            self.error = RuntimeError("".join(traceback.format_exception_only(error)).strip())


def _attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - told to all by whoever called; Note [Failing together]
        return _Failure(error)


class Coordination:
    """The processes of a group, one of which coordinates. Without ``together`` this process is all there is."""

    def __init__(self, group: ProcessGroup | None, together: bool, coordinator: int) -> None:
        self.group, self.together, self.coordinator = group, together, coordinator
        self.rank = get_rank(group) if together else 0
        self.size = get_world_size(group) if together else 1
        if self.rank < 0:
            raise ValueError(
                "this process is not in the group whose processes save or load: only those may call"
            )
        if not 0 <= coordinator < self.size:
            raise ValueError(
                f"the coordinator is rank {coordinator}, and the group has {self.size} processes"
            )
        self.is_coordinator = self.rank == coordinator or not together

    def _gathered(self, value: Any) -> list[Any] | None:
        """All results, on the coordinator."""
        if not self.together:
            return [value]
        room: list[Any] | None = [None] * self.size if self.is_coordinator else None
        objects.gather_object(value, room, group=self.group, group_dst=self.coordinator)
        return room

    def _told(self, verdict: Any) -> Any:
        """What the coordinator says."""
        if not self.together:
            return verdict
        said = [verdict]
        objects.broadcast_object_list(said, group=self.group, group_src=self.coordinator)
        return said[0]

    def _handed_out(self, parts: list[Any] | None) -> Any:
        """This process's part of what the coordinator hands out."""
        if not self.together:
            assert parts is not None
            return parts[0]
        room: list[Any] = [None]
        objects.scatter_object_list(room, parts, group=self.group, group_src=self.coordinator)
        return room[0]

    def _conclude(self, step: str, own: Any, conclude: Callable[[list[Any]], Any]) -> Any:
        """On the coordinator what came of it, or the exception that all shall raise."""
        results = self._gathered(own)
        if results is None:
            return None
        failures = {rank: each for rank, each in enumerate(results) if isinstance(each, _Failure)}
        if not failures:
            made = _attempt(lambda: conclude(results))
            if not isinstance(made, _Failure):
                return made
            failures = {self.coordinator: made}
        return CheckpointException(step, {rank: (each.error, each.stack) for rank, each in failures.items()})

    def share_out(
        self, step: str, local: Callable[[], Any], conclude: Callable[[list[Any]], list[Any]]
    ) -> Any:
        """``local`` on all; ``conclude`` on the coordinator gives a result for each."""
        made = self._conclude(step, _attempt(local), conclude)
        if isinstance(made, CheckpointException):
            made = [made] * self.size
        return _raised(self._handed_out(made))

    def agree(self, step: str, local: Callable[[], Any], conclude: Callable[[list[Any]], Any]) -> Any:
        """``local`` on all; ``conclude`` on the coordinator gives one result for all."""
        return _raised(self._told(self._conclude(step, _attempt(local), conclude)))


def _raised(verdict: Any) -> Any:
    if isinstance(verdict, CheckpointException):
        raise verdict
    return verdict


def find_tensor_shard(tensor: Tensor, index: MetadataIndex) -> Tensor:
    """This process's part of a tensor."""
    return local_part(tensor)


def find_state_dict_object(state_dict: dict[str, Any], index: MetadataIndex) -> Any:
    """The value, or of a tensor this process's part."""
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    found = state_dict[index.fqn]
    if isinstance(found, Tensor):
        return find_tensor_shard(found, index)
    if index.offset is not None:
        raise ValueError(f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'")
    return found


__getattr__ = names_of(__name__)
