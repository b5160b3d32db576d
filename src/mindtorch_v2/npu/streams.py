"""Streams and events of the NPU: ``torch.npu.Stream``, ``torch.npu.Event`` and what selects them."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from .. import _C
from .._backends.npu import runtime as _runtime
from .._devices import streams as _streams

__all__ = [
    "Event", "ExternalEvent", "ExternalStream", "Stream", "StreamContext", "SyncLaunchStream", "current_stream",
    "default_stream", "get_stream_from_external", "get_sync_debug_mode", "set_stream", "set_sync_debug_mode",
    "stream", "stream_priority_range",
]  # fmt: skip

_npu = _C._npu


def _index(device: Any) -> int:
    return _runtime.device_index(device)


class Event(_streams.DeviceEvent):
    """A mark in a stream of an NPU."""

    _native: ClassVar[Any] = _npu
    _type = "npu"
    _index = staticmethod(_index)
    _no_external = (
        "AscendCL's external events are flags, which have to be reset; use torch.npu.ExternalEvent()"
    )

    @property
    def npu_event(self) -> int:
        """The event's handle in AscendCL; 0 before it is recorded."""
        return self._handle


class Stream(_streams.DeviceStream):
    """A queue of work on an NPU. Work in one stream runs in order; streams run beside each other."""

    _native: ClassVar[Any] = _npu
    _type = "npu"
    _event_class = Event
    _index = staticmethod(_index)

    @property
    def npu_stream(self) -> int:
        """The stream's handle in AscendCL."""
        return self.native_handle


class ExternalStream(_streams.MadeElsewhere, Stream):
    """A stream that other code made and owns; ``stream_ptr`` is its AscendCL handle."""


class SyncLaunchStream(Stream):
    """A stream whose operators are enqueued by the thread that calls them: here every stream is one."""


class ExternalEvent:
    """A flag that work in a captured graph and work outside of it can wait for: :meth:`record` raises it, :meth:`reset`
    lowers it. It may be waited for before it is recorded."""

    def __init__(self) -> None:
        self._handle = 0
        self.device_index: int | None = None

    def _of(self, stream: Any, function: str) -> Stream:
        """The stream, the current one for None; the flag is made on its device when it is first used."""
        if stream is None:
            stream = current_stream()
        if not isinstance(stream, Stream):
            raise TypeError(
                f"ExternalEvent.{function}() wants a torch.npu.Stream or None, but got {stream!r}"
            )
        if not self._handle:
            self._handle = _npu.create_external_event(stream.device_index)
            self.device_index = stream.device_index
        return stream

    def record(self, stream: Any = None) -> None:
        """Raises the flag when a stream (the current one) gets there."""
        stream = self._of(stream, "record")
        _npu.record_external_event(self._handle, stream.device_index, stream.handle)

    def wait(self, stream: Any = None) -> None:
        """Makes a stream (the current one) wait until the flag is raised."""
        stream = self._of(stream, "wait")
        _npu.wait_external_event(stream.device_index, stream.handle, self._handle)

    def reset(self, stream: Any = None) -> None:
        """Lowers the flag when a stream (the current one) gets there."""
        stream = self._of(stream, "reset")
        _npu.reset_external_event(self._handle, stream.device_index, stream.handle)

    @property
    def npu_event(self) -> int:
        """The flag's handle in AscendCL; 0 before its first use."""
        return self._handle

    @property
    def device(self) -> Any:
        return None if self.device_index is None else _C.device("npu", self.device_index)

    def __del__(self) -> None:
        if getattr(self, "_handle", 0) and not sys.is_finalizing():
            _npu.destroy_external_event(self._handle)

    def __repr__(self) -> str:
        return f"<torch.npu.ExternalEvent {f'{self._handle:#x}' if self._handle else 'uninitialized'}>"


StreamContext = _streams.StreamContext
stream_priority_range = Stream.priority_range
_functions = _streams.StreamFunctions(Stream)
stream = _functions.stream
set_stream = _functions.set_stream
current_stream = _functions.current_stream
default_stream = _functions.default_stream
set_sync_debug_mode = _functions.set_sync_debug_mode
get_sync_debug_mode = _functions.get_sync_debug_mode


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """The stream behind an AscendCL handle that other code made and owns."""
    return ExternalStream(data_ptr, device)
