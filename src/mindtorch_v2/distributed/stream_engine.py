"""An engine of devices with streams: its functions enqueue, and return before anything is done.

Note [Lines]
A group has a line to all its members for collectives, made at the first one. Messages have lines of their own, two
for each pair of processes and tag, one each way: a message waits on its stream until the other end takes part, and
nothing else may wait with it. To make a line both ends must come together, so a thread makes those for messages,
and the program goes on: two processes that send to each other first and receive then do not wait for each other.
"""

from __future__ import annotations

import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from .. import _C
from .._C import Tensor
from .engine import Engine, Place
from .errors import DistBackendError, DistStoreError
from .stream_work import LateMark, LateWork, Line, StreamWork
from .work import LaneWork, Work
from .work_watch import WorkWatch

_COLLECTIVES = "collectives"


class StreamEngine(Engine):
    """What engines of devices with streams share: lines and the works on them."""

    ends_with_run = False
    keeps_time = False  # the library waits for ever: works that take too long are ended here

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._watch = WorkWatch(place.timeout.total_seconds()) if self.keeps_time else None
        self._lines: dict[Any, Line] = {}
        # The last message of a line that a thread enqueues; it is held while it is not done.
        self._late: dict[Any, weakref.ref[LaneWork]] = {}
        self._linking = threading.Lock()
        self._links: dict[Any, threading.Lock] = {}
        self._closed = False

    @abstractmethod
    def current_device(self) -> _C.device:
        """That of the thread."""

    def home(self) -> _C.device:
        """The device of works without tensors: where the group has been at work."""
        found = (device for lane, device in self._lines if lane == _COLLECTIVES)
        return next(found, None) or self.current_device()

    @abstractmethod
    def new_address(self, device: _C.device) -> bytes:
        """What the others need to connect to this process."""

    @abstractmethod
    def connect(
        self, device: _C.device, address: bytes, size: int, rank: int, name: str, messages: bool
    ) -> Any:
        """A communicator of ``size`` processes, which all call this at the same time; for ``messages`` of two."""

    def line(self, lane: Any, device: _C.device) -> Line:
        """The line that a work runs on."""
        return self._lines[lane, device]

    # ---- works -------------------------------------------------------------------------------------------------

    def start(
        self,
        name: str,
        tensors: list[Tensor],
        run: Callable[[], Any],
        lane: Any = _COLLECTIVES,
        reads: Sequence[Tensor] = (),
    ) -> Work:
        if self._closed:
            raise DistBackendError(f"{name}: the process group was destroyed")
        used = [*tensors, *reads]
        device = used[0].device if used else self.home()
        key = (lane, device)
        line = self._lines.get(key)
        if line is None and lane == _COLLECTIVES:
            line = self._lines[key] = self._line_to_all(device)
        late = self._late[key]() if key in self._late else None
        if line is not None and (late is None or late.is_completed()):
            return self._enqueue(line, name, tensors, used, run)
        if lane[1] is None:
            raise DistBackendError(
                f"{self.name} cannot receive from whoever sends first; name the sender: src=…"
            )
        return self._start_late(key, name, tensors, used, run)

    def _enqueue(
        self,
        line: Line,
        name: str,
        tensors: list[Tensor],
        used: list[Tensor],
        run: Callable[[], Any],
        after: _C._distributed._LaneMark | None = None,
    ) -> StreamWork:
        source: list[int | None] = []
        mark = line.enqueue(used, lambda: source.append(run()), after)
        if self._watch is not None and not _C._DeviceGraph.any_is_captured():
            self._watch.add(name, line, mark)
        return StreamWork(name, tensors, line, mark, source[0])

    def _start_late(
        self, key: Any, name: str, tensors: list[Tensor], used: list[Tensor], run: Callable[[], Any]
    ) -> Work:
        lane, device = key
        here = _C._distributed._LaneMark(device)
        found: list[StreamWork] = []
        late = LateMark()

        def enqueue() -> int:
            self._link(lane[1], lane[2], device)
            found.append(self._enqueue(self._lines[key], name, tensors, used, run, here))
            late.mark = found[0].mark
            return found[0].source_rank()

        pending = super().start(name, tensors, enqueue, lane)
        assert isinstance(pending, LaneWork)
        self._late[key] = weakref.ref(pending)
        return LateWork(pending, found, late)

    # ---- lines -------------------------------------------------------------------------------------------------

    def _line_to_all(self, device: _C.device) -> Line:
        made = sum(lane == _COLLECTIVES for lane, _ in self._lines)  # of other devices
        members = tuple(range(self.place.size))
        name = f"group_{self.place.name}" + (f"_{made}" if made else "")
        return Line(device, self._join(device, f"{_COLLECTIVES} {made}", members, name))

    def _link(self, peer: int, tag: int, device: _C.device) -> None:
        """The two lines to another process."""
        with self._linking:
            lock = self._links.setdefault((peer, tag, device), threading.Lock())
        with lock:
            if (("to", peer, tag), device) in self._lines:  # both are
                return
            pair = tuple(sorted((self.place.rank, peer)))
            ways = [("to", "from"), ("from", "to")][self.place.rank != pair[0]]
            made: dict[Any, Line] = {}
            for number, way in enumerate(ways):
                name = f"group_{self.place.name}_{pair[number]}_to_{pair[1 - number]}_tag_{tag}"
                communicator = self._join(
                    device, f"link {pair[0]} {pair[1]} {tag} {number}", pair, name, True
                )
                made[(way, peer, tag), device] = Line(device, communicator)
            self._lines.update(made)

    def _join(
        self, device: _C.device, key: str, members: tuple[int, ...], name: str, messages: bool = False
    ) -> Any:
        """A communicator of some members, who find each other through the store."""
        store, rank = self.place.store, members.index(self.place.rank)
        # The library's own patience is short, so all come together first.
        store.set(f"{key}/{self.place.rank}", b"1")
        self._await_members(key, members)
        if rank == 0:
            store.set(f"{key}/address", self.new_address(device))
        communicator = self.connect(device, store.get(f"{key}/address"), len(members), rank, name, messages)
        store.delete_key(f"{key}/{self.place.rank}")
        if rank == 0:
            store.delete_key(f"{key}/address")
        return communicator

    def _await_members(self, key: str, members: tuple[int, ...]) -> None:
        store = self.place.store
        try:
            store.wait([f"{key}/{member}" for member in members], self.place.timeout)
        except DistStoreError as error:
            late = [self.place.ranks[each] for each in members if not store.check([f"{key}/{each}"])]
            raise DistBackendError(
                f"{self.name}: rank {self.place.ranks[self.place.rank]} waited "
                f"{self.place.timeout.total_seconds():g} s for rank {', '.join(map(str, late))} to connect"
            ) from error

    def problem(self) -> str:
        found = (line.problem() for line in list(self._lines.values()))
        return next((str(each) for each in found if each is not None), "")

    def disconnect(self) -> None:
        self._closed = True
        if self._watch is not None:
            self._watch.stop()
        lines, self._lines = self._lines, {}
        for line in lines.values():
            line.close()

    def close(self, finish: bool = True) -> None:
        if finish:
            for lane in self._lanes.values():
                lane.close(finish)
            for line in self._lines.values():
                line.finish()
        super().close(finish)
