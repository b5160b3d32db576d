"""One recording at a time: starts and stops the native recorder and keeps what it recorded."""

from __future__ import annotations

import json
import os
from typing import Any

from .. import _C
from ._chrome_trace import write_chrome_trace
from ._event_list import EventList
from ._events import build_events

_native = _C._profiler


class Recording:
    """Records between :meth:`start` and :meth:`stop`; can be started again.

    The native trace is kept as it is. Objects are made of it only when :meth:`events` is called, and an
    export needs none, so that long traces stay small.
    """

    def __init__(
        self, *, record_shapes: bool = False, profile_memory: bool = False, keep_all: bool = False
    ) -> None:
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.keep_all = keep_all  # events of earlier recordings stay
        self.metadata: dict[str, Any] = {}
        self._recording = False
        self._traces: list[Any] = []
        self._events: EventList | None = None

    @property
    def recording(self) -> bool:
        return self._recording

    def start(self) -> None:
        _native.start(self.record_shapes, self.profile_memory, _watched_npus() if self.profile_memory else [])
        self._recording = True

    def stop(self) -> None:
        self._recording = False
        trace = _native.stop()
        self._traces = [*self._traces, trace] if self.keep_all else [trace]
        self._events = None

    def events(self) -> EventList:
        """What was recorded; nothing while the first recording is still going on."""
        if self._events is None:
            self._events = EventList(profile_memory=self.profile_memory)
            for trace in self._traces:
                self._events += build_events(trace, self._traces[0].start_ns)
        return self._events

    def add_metadata(self, key: str, value: str) -> None:
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        try:
            self.metadata[key] = json.loads(value)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"add_metadata_json({key!r}): the value must be JSON text, got {value!r} ({error}); "
                "add_metadata() takes plain text"
            ) from error

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the last finished recording; ``.gz`` compresses."""
        if not self._traces:
            raise RuntimeError("export_chrome_trace(): nothing has been recorded; stop the profiler first")
        write_chrome_trace(path, self._traces[-1], self.metadata)


def _watched_npus() -> list[int]:
    """The NPUs in use, and the first one, which a program may use for the first time while it is recorded.
    Making an allocator touches no device."""
    from .. import npu
    from .._backends.npu import allocator

    indices = range(npu.device_count()) if npu.is_initialized() else (0,)
    for index in indices:
        allocator.get_allocator(index)
    return list(indices)


def refuse(function: str, **features: object) -> None:
    """Features that PyTorch's profiler has and this one does not have yet are an error when asked for."""
    for name, value in features.items():
        if value:
            raise NotImplementedError(f"{function}({name}={value!r}) is not supported yet; leave {name} out")
