"""What carries messages between the processes of a group: one small interface for all libraries.

An engine has plain functions over contiguous tensors of its device. What users see (lists of tensors, groups, works
that are waited for later) is made of them in ``process_group.py``; a new library is a file with these functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from .._C import Tensor
from .reduce_op import ReduceOp
from .stores import Store
from .work import Lane, Work


@dataclass(frozen=True)
class Place:
    """Where a process stands in a group."""

    rank: int
    size: int
    ranks: tuple[int, ...]  # of the members among all processes
    store: Store  # of the group alone
    timeout: timedelta
    name: str


class EngineOptions:
    """What programs say about a backend when they make a group (``pg_options``), under PyTorch's names. The time limit
    counts; the rest is kept for those who read it."""

    def __init__(self, is_high_priority_stream: bool = False, timeout: timedelta | None = None) -> None:
        self.is_high_priority_stream = is_high_priority_stream
        self._timeout = timeout
        self.global_ranks_in_group: list[int] = []
        self.group_name = ""


class Engine(ABC):
    """The functions return when the tensors may be used again."""

    name: str
    Options = EngineOptions
    ends_with_run = True  # a work is done when its function has returned

    def __init__(self, place: Place) -> None:
        self.place = place
        self._lanes: dict[Any, Lane] = {}

    def start(
        self,
        name: str,
        tensors: list[Tensor],
        run: Callable[[], Any],
        lane: Any = "collectives",
        reads: Sequence[Tensor] = (),
    ) -> Work:
        """A work that calls ``run``, after those of the same lane. Note [Lanes]. It writes ``tensors``.

        An engine of a device with streams runs it here and now, on a stream of its own, and gives a work that waits for
        an event: Note [Works on streams].
        """
        found = self._lanes.get(lane)
        if found is None:
            found = self._lanes[lane] = Lane(f"{self.name} {self.place.name}: {lane}")
        return found.submit(name, tensors, run)

    @abstractmethod
    def broadcast(self, tensor: Tensor, root: int) -> None:
        """The root's values reach all."""

    @abstractmethod
    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        """All get the reduction of all."""

    @abstractmethod
    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> None:
        """The root gets the reduction of all; what the others have then is open."""

    @abstractmethod
    def all_gather(self, out: Tensor, tensor: Tensor) -> None:
        """``out`` is everybody's tensor, one behind the other."""

    @abstractmethod
    def reduce_scatter(self, out: Tensor, tensor: Tensor, op: ReduceOp) -> None:
        """``tensor`` has a part for each; everybody gets the reduction of its part."""

    @abstractmethod
    def all_to_all(
        self, out: Tensor, tensor: Tensor, out_counts: Sequence[int], counts: Sequence[int]
    ) -> None:
        """Part i of ``tensor``, of ``counts[i]`` elements, reaches process i."""

    @abstractmethod
    def gather(self, out: Tensor | None, tensor: Tensor, root: int) -> None:
        """The root's ``out`` is everybody's tensor, one behind the other."""

    @abstractmethod
    def scatter(self, out: Tensor, tensor: Tensor | None, root: int) -> None:
        """Part i of the root's tensor reaches process i."""

    @abstractmethod
    def send(self, tensor: Tensor, peer: int, tag: int) -> None:
        """The other one receives it."""

    @abstractmethod
    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> int:
        """From that one, or from anybody; gives who sent it."""

    @abstractmethod
    def barrier(self) -> None:
        """Returns when all have called it."""

    def problem(self) -> str:
        """What failed while nobody looked; empty: nothing."""
        return ""

    def disconnect(self) -> None:  # noqa: B027  some have nothing to end
        """Ends the connections, so that the others' calls fail at once instead of waiting for this process."""

    def close(self, finish: bool = True) -> None:
        """Ends it; ``finish``: after the works that were begun."""
        if not finish:
            self.disconnect()
        for lane in self._lanes.values():
            lane.close(finish)
        self.disconnect()
