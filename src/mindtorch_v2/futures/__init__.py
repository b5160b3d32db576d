"""``torch.futures``: results that come later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

_T = TypeVar("_T")


class Future(Generic[_T]):
    """A result that another thread sets; callbacks run when it is there."""

    def __init__(self, *, devices: Any = None) -> None:
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[_T]], Any]] = []

    def done(self) -> bool:
        """Whether the result or an error is there."""
        return self._done.is_set()

    def wait(self) -> _T:
        """Waits for the result; raises the error if there is one instead."""
        self._done.wait()
        return self.value()

    def value(self) -> _T:
        """The result, which must be there."""
        if not self.done():
            raise RuntimeError("value() was called on a Future that has no result yet; call wait()")
        if self._error is not None:
            raise self._error
        result: _T = self._result
        return result

    def _finish(self, result: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can "
                                   "only be marked completed once.")  # fmt: skip
            self._result, self._error = result, error
            self._done.set()
            waiting = self._callbacks
        for callback in waiting:
            callback(self)

    def set_result(self, result: _T) -> None:
        """Sets the result, once."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Sets an error, which wait() raises."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def add_done_callback(self, callback: Callable[[Future[_T]], None]) -> None:
        """Calls back with this Future once it is done, at once if it is."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[_T]], Any]) -> Future[Any]:
        """A Future for what the callback makes of this one."""
        later: Future[Any] = Future()

        def run(future: Future[_T]) -> None:
            try:
                result = callback(future)
            except Exception as error:  # noqa: BLE001 - it is raised where the later Future is waited for
                later.set_exception(error)
            else:
                later.set_result(result)

        self.add_done_callback(run)
        return later


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all, in order."""
    return [future.wait() for future in futures]


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A Future that is done when all are; its result is their list."""
    collected: Future[list[Future[Any]]] = Future()
    left = len(futures)
    lock = threading.Lock()

    def one_done(_: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            collected.set_result(futures)

    if not futures:
        collected.set_result([])
    for future in futures:
        future.add_done_callback(one_done)
    return collected
