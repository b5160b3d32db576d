"""Who is told of a device's memory: observers of errors, snapshots at out-of-memory, ``mindtorch memory watch`` and the
search for leaks. A device module makes its functions from a :class:`MemoryObservers`."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import memory as _memory
from .memory_functions import MemoryFunctions
from .pools import DevicePools

if TYPE_CHECKING:
    from .leaks import LeakTracker
    from .watching import Watched

OutOfMemoryObserver = Callable[[int, int, int, int], None]
_HISTORY_FOR_SNAPSHOT = 100_000  # actions: enough for some steps, and a file that the viewer opens
_watched: list[MemoryObservers] = []  # the kinds of devices of this process, which one server tells of


def _chosen(variable: str, meanings: dict[str, str]) -> str:
    mode = os.environ.get(variable) or "0"
    if mode not in meanings:
        allowed = " or ".join(f"{key} ({meaning})" for key, meaning in meanings.items())
        raise ValueError(f"{variable} is '{mode}'; it can be {allowed}")
    return mode


class MemoryObservers:
    """The functions of ``torch.<device>.memory`` by which others learn of its memory."""

    def __init__(self, functions: MemoryFunctions, pools: DevicePools) -> None:
        self._functions, self._pools = functions, pools
        self._name = functions._device_name
        self._type = functions._device_name.lower()
        self._observers: list[OutOfMemoryObserver] = []
        self._snapshot_on_out_of_memory()
        _watched.append(self)
        if _chosen("MINDTORCH_MEMORY_WATCH", {"0": "off", "1": "on"}) == "1" and len(_watched) == 1:
            atexit.register(self.serve_watch().close)

    def _tell(self, made: Any) -> None:
        device = made.device_id

        def tell(size: int, total: int, free: int) -> None:
            for observer in list(self._observers):
                observer(device, size, total, free)

        made.set_out_of_memory_observer(tell)

    def attach_out_of_memory_observer(self, observer: OutOfMemoryObserver) -> None:
        """``observer(device, bytes, total, free)`` is called before an ``OutOfMemoryError`` is raised on any device."""
        if not callable(observer):
            raise TypeError(
                f"an observer is a function of (device, bytes, total, free), but got {observer!r}"
            )
        self._observers.append(observer)
        if self._tell not in self._pools.prepare:
            self._pools.prepare.append(self._tell)
        for made in self._pools.allocators.values():
            self._tell(made)

    def detach_out_of_memory_observer(self, observer: OutOfMemoryObserver) -> None:
        """Takes :meth:`attach_out_of_memory_observer` back."""
        if observer not in self._observers:
            raise ValueError(f"{observer!r} was not attached with attach_out_of_memory_observer")
        self._observers.remove(observer)

    def _write_snapshot(self, device: int, size: int, total: int, free: int) -> None:
        folder = os.environ.get("OOM_SNAPSHOT_PATH") or os.getcwd()
        path = os.path.join(folder, f"oom_snapshot_{self._type}{device}_{os.getpid()}.pickle")
        where = f"{self._name} {device} is out of memory"
        try:
            self._functions._dump_snapshot(path)
            pages = [make(path) for make in _memory.snapshot_pages]
        except (OSError, ValueError) as error:  # the error that matters is the one about to be raised
            print(f"{where}, and its snapshot could not be written: {error}", file=sys.stderr)
        else:
            print(f"{where}: wrote {' and '.join([path, *pages])}", file=sys.stderr)

    def _snapshot_on_out_of_memory(self) -> None:
        """``OOM_SNAPSHOT_ENABLE``: 1 writes a snapshot with history to ``OOM_SNAPSHOT_PATH`` when memory runs out, 2
        one without."""
        mode = _chosen("OOM_SNAPSHOT_ENABLE", {"0": "off", "1": "with history", "2": "without"})
        if mode == "1":
            self._pools.prepare.append(lambda made: made.record_memory_history(_HISTORY_FOR_SNAPSHOT))
        if mode != "0":
            self.attach_out_of_memory_observer(self._write_snapshot)

    def _stats(self) -> list[dict[str, Any]]:
        told = []
        for index in sorted(self._pools.allocators):
            stats = self._functions.memory_stats(index)
            told.append(
                {
                    "device": f"{self._type}:{index}",
                    "allocated": stats["allocated_bytes.all.current"],
                    "reserved": stats["reserved_bytes.all.current"],
                    "peak_allocated": stats["allocated_bytes.all.peak"],
                    "peak_reserved": stats["reserved_bytes.all.peak"],
                    "retries": stats["num_alloc_retries"],
                    "ooms": stats["num_ooms"],
                    # An allocator can be there without its device, which tells no size then.
                    "total": self._pools.allocators[index]._mem_get_info()[1]
                    if index < self._functions._count()
                    else 0,
                }
            )
        return told

    def serve_watch(self, port: int = 0) -> Watched:
        """From now on ``mindtorch memory watch`` shows this process: a server of this machine alone, with a token.
        Returns its ``page``, for a browser, and ``close``."""
        from .watching import Watched  # it loads modules that few programs need

        return Watched(lambda: [each for kind in _watched for each in kind._stats()], port)

    def track_leaks(self, warm_up: int = 2) -> LeakTracker:
        """Tells what grows step after step, by line, and who holds it::

            with torch.<device>.memory.track_leaks() as tracker:
                for batch in batches:
                    train(batch)
                    tracker.step()
                print(tracker.report())

        The first ``warm_up`` steps are not compared."""
        from .leaks import LeakTracker  # it loads modules that few programs need

        def in_use() -> list[Any]:
            indices = sorted(self._pools.allocators) or [self._functions._index_of(None)]
            return [self._functions._get_allocator(index) for index in indices]

        return LeakTracker(self._type, in_use, warm_up)
