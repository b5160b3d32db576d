"""Streams and events of the NPU: ``torch.npu.Stream``, ``torch.npu.Event`` and what selects them."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from .. import _C
from .._backends.npu import runtime as _runtime
from .._devices import module_parts as _parts
from .._devices import streams as _streams

__all__ = [
    "Event", "ExternalEvent", "ExternalStream", "Stream", "StreamContext", "SyncLaunchStream", "current_stream",
    "default_stream", "get_stream_from_external", "get_sync_debug_mode", "set_stream", "set_sync_debug_mode",
    "stream", "stream_priority_range",
]  # fmt: skip

_npu = _C._npu


class Event(_streams.Event):
    """A mark in a stream of an NPU."""

    _native: ClassVar[Any] = _npu
    _type = "npu"

    def __init__(self, *args: Any, **known: Any) -> None:
        """``Event(enable_timing=False, blocking=False, interprocess=False, external=False)``; a device may come
        first."""
        names = ["enable_timing", "blocking", "interprocess", "external"]
        if args and not isinstance(args[0], int):
            names = ["device"]
        if len(args) > len(names):
            raise TypeError(f"Event() takes at most {len(names)} positional arguments, but got {len(args)}")
        known.update(zip(names, args, strict=False))
        if known.pop("external", False):
            raise NotImplementedError(
                "torch.npu.Event(external=True): AscendCL's external events are flags, which have to be reset; use "
                "torch.npu.ExternalEvent()"
            )
        _runtime.device_index(known.pop("device", None))
        super().__init__(**known)

    @property
    def npu_event(self) -> int:
        """The event's handle in AscendCL; 0 before it is recorded."""
        return self._handle

    @staticmethod
    def _current_stream() -> Stream:
        return current_stream()

    @classmethod
    def _device_index(cls, device: Any) -> int:
        return _runtime.device_index(device)


class Stream(_streams.Stream):
    """A queue of work on an NPU. Work in one stream runs in order; streams run beside each other."""

    _native: ClassVar[Any] = _npu
    _type = "npu"
    _event_class = Event

    @classmethod
    def _index(cls, device: Any) -> int:
        return _runtime.device_index(device)

    @property
    def npu_stream(self) -> int:
        """The stream's handle in AscendCL."""
        return self.handle

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The lowest and the highest priority."""
        return stream_priority_range()


class ExternalStream(Stream):
    """A stream that other code made and owns; ``stream_ptr`` is its AscendCL handle."""

    def __init__(self, stream_ptr: int, device: Any = None, **known: Any) -> None:
        if not isinstance(stream_ptr, int) or stream_ptr == 0:
            raise ValueError(f"ExternalStream wants the handle of a stream, but got {stream_ptr!r}")
        super().__init__(device, _handle=stream_ptr, **known)


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


StreamContext = _parts.StreamContext


def stream(stream: Stream | None) -> StreamContext:
    """Work inside ``with torch.npu.stream(s):`` goes to ``s``; None changes nothing."""
    _checked(stream, "stream")
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Makes a stream, and its device, this thread's current ones. None changes nothing."""
    if stream is not None:
        _checked(stream, "set_stream")
        _npu.set_device(stream.device_index)
        _npu.set_stream(stream.device_index, stream.handle)


def current_stream(device: Any = None) -> Stream:
    """This thread's current stream on a device."""
    index = _runtime.device_index(device)
    return Stream(index, _handle=_npu.current_stream(index))


def default_stream(device: Any = None) -> Stream:
    """The stream that is current unless another is chosen."""
    index = _runtime.device_index(device)
    return Stream(index, _handle=_npu.default_stream(index))


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """The stream behind an AscendCL handle that other code made and owns."""
    return ExternalStream(data_ptr, device)


def stream_priority_range() -> tuple[int, int]:
    """The lowest and the highest priority of streams; (0, 0) if the runtime cannot be asked."""
    found = _npu.stream_priority_range()
    return (0, 0) if found is None else (int(found[0]), int(found[1]))


def _checked(stream: Any, function: str) -> Any:
    if stream is not None and not (isinstance(stream, _streams.Stream) and stream._native):
        raise TypeError(f"torch.npu.{function}() wants a stream of an NPU or None, but got {stream!r}")
    return stream


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """What happens where the host waits inside an operator: nothing ("default", 0), a warning ("warn", 1) or
    an error ("error", 2)."""
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        debug_mode = _DEBUG_MODES[debug_mode]
    if not isinstance(debug_mode, int):
        raise TypeError(f"debug_mode is a number or a text, but got {type(debug_mode).__name__}")
    if debug_mode not in _DEBUG_MODES.values():
        raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
    _npu.set_sync_debug_mode(debug_mode)


def get_sync_debug_mode() -> int:
    """The mode of :func:`set_sync_debug_mode` as a number."""
    return int(_npu.sync_debug_mode())
