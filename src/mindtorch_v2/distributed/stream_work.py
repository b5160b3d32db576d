"""Works of devices with streams: they run beside the program, and only streams wait for them.

Note [Works on streams]
A work is enqueued at once, on a stream that only works of its line use (Note [Stream lanes] in
``csrc/distributed/stream_lane.h``). ``wait()`` makes the current stream wait for its end and returns; the host goes on.
What went wrong on the device is therefore raised by whoever looks at its results first, as with operators. A barrier is
for the host, which does wait for it. So does ``wait`` with a time limit, which nobody can keep otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from .._C import Tensor, _distributed
from ..futures import Future
from ..utils._pytree import tree_iter
from .errors import DistBackendError
from .work import LaneWork, Work

_LOOK = 1e-3  # seconds between looks at whether a work is done


class StreamFuture(Future[Any]):
    """A result that the stream will have: whoever waits for it on another stream makes that one wait."""

    def __init__(self, result: Any, line: Line, mark: _distributed._LaneMark) -> None:
        super().__init__()
        self._line, self._mark = line, mark
        self.set_result(result)

    def wait(self) -> Any:
        # What a callback made belongs to the line's stream; the one that waits will use it, too.
        result = self.value()
        self._mark.wait([each for each in tree_iter(result) if isinstance(each, Tensor)])
        return result

    def then(self, callback: Callable[[Future[Any]], Any]) -> Future[Any]:
        """The callback enqueues its work behind this one, so that the program's stream need not wait."""
        results: list[Any] = []
        mark = self._line.lane.run([], lambda: results.append(callback(self)), self._mark)
        return StreamFuture(results[0], self._line, mark)

    def add_done_callback(self, callback: Callable[[Future[Any]], None]) -> None:
        self._line.lane.run([], lambda: callback(self), self._mark)


class Line:
    """A connection to other processes and the stream for its works."""

    def __init__(self, device: Any, communicator: Any) -> None:
        self.communicator: Any = communicator  # none once it is closed
        self.lane = _distributed._StreamLane(device)
        self._finished = False  # nothing is under way, and nothing will be

    def enqueue(
        self,
        tensors: Sequence[Tensor],
        run: Callable[[], Any],
        after: _distributed._LaneMark | None = None,
    ) -> _distributed._LaneMark:
        """Runs what enqueues a work that uses these tensors; gives its end."""
        return self.lane.run(tensors, run, after)

    def failure(self) -> str:
        """What failed on the device; empty: nothing."""
        communicator = self.communicator
        return communicator.problem() if communicator else ""

    def problem(self) -> DistBackendError | None:
        """The error of what failed on the device."""
        text = self.failure()
        return DistBackendError(text) if text else None

    def finish(self) -> None:
        """Waits for its works, unless one of them has failed."""
        if self.problem() is None:
            self.lane.synchronize()
            self._finished = self.problem() is None

    def abort(self, why: str) -> None:
        """Ends what is under way; the text is for those who wait for it."""
        if (communicator := self.communicator) is not None:
            communicator.abort(why)

    def close(self) -> None:
        """Ends it."""
        communicator, self.communicator = self.communicator, None
        communicator.close(self._finished)


class StreamWork(Work):
    """A work on the stream of a line."""

    def __init__(
        self,
        name: str,
        tensors: list[Tensor],
        line: Line,
        mark: _distributed._LaneMark,
        source: int | None = None,
    ) -> None:
        super().__init__(name, tensors)
        self._line, self.mark = line, mark
        if source is not None:
            self._source = source

    def _await(self, timeout: timedelta | None) -> None:
        if timeout is not None:
            self._await_on_host(timeout)
        elif self.name == "barrier":
            self.mark.synchronize()
        self.mark.wait()

    def _await_on_host(self, timeout: timedelta) -> None:
        end = time.monotonic() + timeout.total_seconds()
        while not self.is_completed():
            if time.monotonic() > end:
                raise self._late(timeout)
            time.sleep(_LOOK)
        if (error := self.exception()) is not None:
            raise error

    def synchronize(self) -> None:
        self.mark.wait()

    def is_completed(self) -> bool:
        return self.mark.is_complete() or self._line.problem() is not None

    def is_success(self) -> bool:
        return self.mark.is_complete() and self._line.problem() is None

    def exception(self) -> BaseException | None:
        return self._line.problem()

    def get_future(self) -> Future[list[Tensor]]:
        return StreamFuture(self._tensors, self._line, self.mark)


class LateMark:
    """The end of a work that may not have been enqueued."""

    mark: _distributed._LaneMark | None = None

    def is_complete(self) -> bool:
        """Whether it was, and is done."""
        return self.mark is not None and self.mark.is_complete()


class LateWork(Work):
    """A work that a thread enqueues once the other process has answered."""

    def __init__(self, pending: LaneWork, found: list[StreamWork], late: LateMark) -> None:
        super().__init__(pending.name, pending.result())
        self._pending, self._found, self.mark = pending, found, late

    def begin(self) -> None:
        self._pending.begin()

    def _enqueued(self, timeout: timedelta | None = None) -> StreamWork:
        self._pending.wait(timeout)
        return self._found[0]

    def _await(self, timeout: timedelta | None) -> None:
        work = self._enqueued(timeout)
        self._source = work.source_rank()
        work._await(timeout)

    def is_completed(self) -> bool:
        if not self._pending.is_completed():
            return False
        return not self._found or self._found[0].is_completed()

    def is_success(self) -> bool:
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        return self._found[0].exception() if self._found else self._pending.exception()

    def get_future(self) -> Future[list[Tensor]]:
        return self._enqueued().get_future()
