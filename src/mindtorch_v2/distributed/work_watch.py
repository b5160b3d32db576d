"""Looks after works on streams, for libraries that wait for ever.

Note [Works that take too long]
A collective whose other end is gone, or does something else, stays on its stream, and whoever waits for the stream
waits with it. So a thread looks at the oldest work of each line: when it has been there for the group's time limit, or
when the library says that something failed, the communicator is aborted, which lets the stream go on, and the text
reaches whoever looks at the results (``csrc/devices/failure_watch.h``), the next collective, and ``Work.wait``. The
time of a work begins when those before it are done.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .stream_work import Line

_LOOK = 0.1  # seconds between looks


class WorkWatch:
    """A thread that lives while there is a work."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._changed = threading.Condition()
        self._works: dict[Line, deque[tuple[str, Any]]] = {}
        self._thread: threading.Thread | None = None
        self._stopped = False

    def add(self, name: str, line: Line, mark: Any) -> None:
        """A work that was enqueued."""
        with self._changed:
            self._works.setdefault(line, deque()).append((name, mark))
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="work watch", daemon=True)
                self._thread.start()
            elif len(self._works) == 1:
                self._changed.notify()

    def stop(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def _serve(self) -> None:
        since: dict[Any, float] = {}  # when the oldest work of a line was seen first
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._works or self._stopped)
                if self._stopped:
                    return
                lines = list(self._works.items())
            for line, works in lines:
                self._look_at(line, works, since)
            with self._changed:
                self._changed.wait_for(lambda: self._stopped, _LOOK)

    def _look_at(self, line: Line, works: deque[tuple[str, Any]], since: dict[Any, float]) -> None:
        while works and works[0][1].is_complete():
            works.popleft()
            since.pop(line, None)
        if not works:
            with self._changed:
                if not works:
                    self._works.pop(line, None)
            return
        name, now = works[0][0], time.monotonic()
        why = line.failure()
        if not why and now - since.setdefault(line, now) > self._limit:
            why = f"{name} was not done after {self._limit:g} s; another rank is late or gone"
        if why:
            line.abort(f"{name}: {why}" if name not in why else why)
            with self._changed:
                self._works.pop(line, None)
