"""Work under way between processes, and the order in which it is done.

Note [Lanes]
Processes must call collectives of a group in one order, so those of a group form a lane: the next begins when the one
before has ended. Messages between two processes have lanes of their own, one each way, because they may be asked for
in any order. A lane has a thread, but who waits for a work of it does not wait for the thread: it runs what is left of
the lane itself. So a call that waits costs no switch of threads, and one that does not goes on beside the program.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from .._C import Tensor
from ..futures import Future
from .errors import DistBackendError

_futures = threading.Lock()  # held while a work becomes done or gets its future


class Work:
    """Something that other processes take part in."""

    mark: Any = None  # of a work on a stream: its end there
    group: Any = None  # whose work it is; none: an engine's own

    def __init__(self, name: str, tensors: list[Tensor]) -> None:
        self.name = name
        self._tensors = tensors
        self._error: BaseException | None = None
        self._source = -1
        self._done = False
        self._future: Future[list[Tensor]] | None = None  # made when somebody asks for it

    def begin(self) -> None:
        """Lets it go on while the program does something else."""

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Returns when it is done; raises what went wrong."""
        self._await(timeout if timeout else None)  # PyTorch's zero is no limit of its own
        if self._error is not None:
            raise self._error
        return True

    def _late(self, timeout: timedelta) -> BaseException:
        """The error of who has waited so long. Who waits again and again asks the others only once."""
        seconds = timeout.total_seconds()
        group, self.group = self.group, None
        if group is not None:
            found: BaseException = group.late(self.name, seconds)
            return found
        return DistBackendError(f"{self.name} was not done after {seconds:g} s; another process may be late")

    def _await(self, timeout: timedelta | None) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say how to wait for it")

    def synchronize(self) -> None:
        """The same as :meth:`wait` on the host."""
        self.wait()

    def block_current_stream(self) -> None:
        """What is launched after this comes after it."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether it is done or has failed."""
        return self._done

    def is_success(self) -> bool:
        """Whether it is done without an error."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """What went wrong."""
        return self._error

    def result(self) -> list[Tensor]:
        """The tensors that were written."""
        return self._tensors

    def source_rank(self) -> int:
        """Who sent what was received."""
        return self._source

    _source_rank = source_rank

    def get_future(self) -> Future[list[Tensor]]:
        """A future of the tensors."""
        with _futures:
            if self._future is not None:
                return self._future
            self._future = Future()
            if not self._done:
                return self._future
        self._settle(self._future)
        return self._future

    def _finish(self, error: BaseException | None) -> None:
        self._error = error
        with _futures:
            self._done = True
            future = self._future
        if future is not None:
            self._settle(future)

    def _settle(self, future: Future[list[Tensor]]) -> None:
        if self._error is None:
            future.set_result(self._tensors)
        else:
            future.set_exception(self._error)


class LaneWork(Work):
    """A work that a lane does."""

    def __init__(self, name: str, tensors: list[Tensor], lane: Lane, run: Callable[[], Any]) -> None:
        super().__init__(name, tensors)
        self._lane, self._run = lane, run

    def begin(self) -> None:
        self._lane.go()

    def _await(self, timeout: timedelta | None) -> None:
        self._lane.finish(self, timeout)

    def get_future(self) -> Future[list[Tensor]]:
        self.begin()  # whoever asks for it may wait for the future alone
        return super().get_future()

    def is_completed(self) -> bool:
        self.begin()
        return super().is_completed()

    def perform(self) -> None:
        """Does it; what goes wrong is kept for those who wait."""
        try:
            source = self._run()
            if source is not None:
                self._source = source
        except Exception as error:  # noqa: BLE001  whatever the engine raises reaches the one who waits
            self._finish(error)
        else:
            self._finish(None)
        finally:
            del self._run  # and with it the tensors that it reads


class Lane:
    """Works in order. Note [Lanes]."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: deque[LaneWork] = deque()
        self._turn = threading.Lock()  # held by who runs works
        self._ended = threading.Condition()  # told after each turn
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, name: str, tensors: list[Tensor], run: Callable[[], Any]) -> LaneWork:
        """Puts a work at the end. It begins with :meth:`go` or when somebody waits for it."""
        if self._closed:
            raise DistBackendError(f"{name}: the process group was destroyed")
        work = LaneWork(name, tensors, self, run)
        self._queue.append(work)
        return work

    def go(self) -> None:
        """Lets the lane's thread do what is left."""
        with self._wake:
            if not self._queue:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
                self._thread.start()
            self._wake.notify()

    def _next(self) -> bool:
        """Runs the next work; the turn is held."""
        try:
            work = self._queue.popleft()
        except IndexError:
            return False
        work.perform()
        return True

    def _serve(self) -> None:
        while not self._closed:
            with self._wake:
                self._wake.wait_for(lambda: self._queue or self._closed)
            with self._turn:
                self._next()
            self._tell()

    def _tell(self) -> None:
        with self._ended:
            self._ended.notify_all()

    def finish(self, work: LaneWork, timeout: timedelta | None) -> None:
        """Runs works until this one is done; with a time limit, the thread runs them."""
        if timeout is not None:
            if not work.get_future()._done.wait(timeout.total_seconds()):
                raise work._late(timeout)
        while not work._done:
            if self._turn.acquire(blocking=False):
                try:
                    if not work._done:
                        self._next()
                finally:
                    self._turn.release()
                self._tell()
            else:  # not for the turn: who has it may be done with this work and wait for another process in the next
                with self._ended:
                    self._ended.wait_for(lambda: work._done or not self._turn.locked())

    def close(self, finish: bool) -> None:
        """Ends the thread; ``finish``: when the works that were begun are done."""
        if finish:
            with self._turn:
                while self._next():
                    pass
            self._tell()
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        if finish and self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
