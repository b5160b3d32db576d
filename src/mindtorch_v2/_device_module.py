"""What the modules of all accelerators share: streams, events, the device context and the memory functions.

A device module derives its classes from these, with ``_type`` (as in ``torch.device``) and ``_native`` (the
functions of its runtime in ``_C``), and makes its memory functions from a :class:`MemoryFunctions`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from . import _C, _memory


class StreamBase:
    """A queue of work on a device. Streams are values: objects with the same handle are the same stream."""

    _type: ClassVar[str]
    _native: ClassVar[Any]
    _event_class: ClassVar[type[EventBase]]

    def __init__(self, device: Any = None, priority: int = 0, **known: Any) -> None:
        self.device_index = self._index(device)
        self.priority = priority
        # A stream that exists already (the default one, someone else's) is wrapped, not made.
        handle = known.pop("_handle", None)
        if known:
            raise TypeError(f"{type(self).__name__}() got unexpected arguments: {', '.join(known)}")
        if handle is None:
            handle = self._native.pooled_stream(self.device_index, priority)
        self.handle: int = handle

    @classmethod
    def _index(cls, device: Any) -> int:
        raise NotImplementedError

    @classmethod
    def _wrap(cls, device_index: int, handle: int) -> Any:
        return cls(device_index, _handle=handle)

    @property
    def device(self) -> Any:
        return _C.device(self._type, self.device_index)

    @property
    def stream_id(self) -> int:
        return self.handle

    def wait_event(self, event: EventBase) -> None:
        """Work enqueued from now on runs after the event."""
        event.wait(self)

    def wait_stream(self, stream: StreamBase) -> None:
        """Work enqueued from now on runs after everything that is in ``stream`` now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Any = None) -> Any:
        """Marks the point the stream has reached, in ``event`` or in a new one."""
        if event is None:
            event = self._event_class()
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work is done."""
        return bool(self._native.stream_is_idle(self.device_index, self.handle))

    def synchronize(self) -> None:
        """Waits until all work is done."""
        self._native.synchronize_stream(self.device_index, self.handle)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StreamBase):
            return NotImplemented
        return (self._type, self.device_index, self.handle) == (other._type, other.device_index, other.handle)

    def __hash__(self) -> int:
        return hash((self._type, self.device_index, self.handle))

    def __repr__(self) -> str:
        return f"<torch.{self._type}.Stream device={self.device} {self._type}_stream={self.handle:#x}>"


class EventBase:
    """A mark in a stream. Recording it again makes a new mark; waits that were enqueued keep the old one."""

    _native: ClassVar[Any]
    _type: ClassVar[str]
    _current_stream: ClassVar[Callable[..., Any]]

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self._handle = 0
        if interprocess:
            raise NotImplementedError(
                f"torch.{self._type}.Event(interprocess=True): events cannot be shared between processes"
            )
        self.enable_timing = enable_timing
        self.blocking = blocking
        self.device_index: int | None = None

    def record(self, stream: Any = None) -> None:
        stream = self._stream_or_current(stream)
        if not self._handle:
            self._handle = self._native.create_event(stream.device_index, self.enable_timing)
            self.device_index = stream.device_index
        elif self.device_index != stream.device_index:
            raise RuntimeError(
                f"Event device {self.device_index} does not match recording stream's device "
                f"{stream.device_index}."
            )
        self._native.record_event(self._handle, stream.device_index, stream.handle)

    def wait(self, stream: Any = None) -> None:
        """Makes a stream wait for the mark. An event that was never recorded is no reason to wait."""
        stream = self._stream_or_current(stream)
        if self._handle:
            self._native.stream_wait_event(stream.device_index, stream.handle, self._handle)

    def query(self) -> bool:
        """Whether everything before the mark is done."""
        return not self._handle or bool(self._native.event_is_complete(self._handle))

    def synchronize(self) -> None:
        """Waits until everything before the mark is done."""
        if self._handle:
            self._native.synchronize_event(self._handle)

    def elapsed_time(self, end_event: EventBase) -> float:
        """Milliseconds between this mark and ``end_event``."""
        if not (self.enable_timing and end_event.enable_timing):
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._handle and end_event._handle):
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return float(self._native.elapsed_ms(self._handle, end_event._handle))

    def _stream_or_current(self, stream: Any) -> Any:
        return type(self)._current_stream() if stream is None else stream

    @property
    def device(self) -> Any:
        return None if self.device_index is None else _C.device(self._type, self.device_index)

    def __del__(self) -> None:
        if getattr(self, "_handle", 0) and not sys.is_finalizing():
            self._native.destroy_event(self._handle)

    def __repr__(self) -> str:
        state = f"{self._handle:#x}" if self._handle else "not recorded"
        return f"<torch.{self._type}.Event {state}>"


class StreamContextBase:
    """``with torch.npu.stream(s):`` — work inside goes to the stream, on the stream's device."""

    _native: ClassVar[Any]

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is None:
            return
        native = self._native
        self._device = native.current_device()
        native.set_device(self.stream.device_index)
        self._previous = native.current_stream(self.stream.device_index)
        native.set_stream(self.stream.device_index, self.stream.handle)

    def __exit__(self, *error: object) -> None:
        if self.stream is None:
            return
        self._native.set_stream(self.stream.device_index, self._previous)
        self._native.set_device(self._device)


class DeviceContextBase:
    """``with torch.npu.device(1):`` — the device is current inside. None and -1 change nothing."""

    _native: ClassVar[Any]

    def __init__(self, device: Any) -> None:
        negative = isinstance(device, int) and device < 0
        self.idx = -1 if device is None or negative else self._index(device)
        self.prev_idx = -1

    @staticmethod
    def _index(device: Any) -> int:
        raise NotImplementedError

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = self._native.current_device()
            self._native.set_device(self.idx)

    def __exit__(self, *error: object) -> Literal[False]:
        if self.idx >= 0:
            self._native.set_device(self.prev_idx)
        return False


class MemoryFunctions:
    """The memory functions of ``torch.<device>``. Allocators are looked up at every call."""

    def __init__(
        self, device_name: str, get_allocator: Callable[[Any], Any], index_of: Callable[[Any], int],
        in_use: Callable[[], list[int]],
    ) -> None:  # fmt: skip
        self._device_name = device_name
        self._get_allocator = get_allocator
        self._index_of = index_of
        self._in_use = in_use  # the devices that have an allocator

    def memory_stats(self, device: Any = None) -> dict[str, Any]:
        """All counters of the caching allocator, as ``torch.cuda.memory_stats`` names them."""
        return dict(self._get_allocator(device).memory_stats())

    def memory_stats_as_nested_dict(self, device: Any = None) -> dict[str, Any]:
        return _memory.nested(self.memory_stats(device))

    def memory_allocated(self, device: Any = None) -> int:
        """Bytes now in tensors."""
        return int(self.memory_stats(device).get("allocated_bytes.all.current", 0))

    def max_memory_allocated(self, device: Any = None) -> int:
        return int(self.memory_stats(device).get("allocated_bytes.all.peak", 0))

    def memory_reserved(self, device: Any = None) -> int:
        """Bytes taken from the device, in tensors or cached."""
        return int(self.memory_stats(device).get("reserved_bytes.all.current", 0))

    def max_memory_reserved(self, device: Any = None) -> int:
        return int(self.memory_stats(device).get("reserved_bytes.all.peak", 0))

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        self._get_allocator(device).reset_peak_memory_stats()

    def reset_accumulated_memory_stats(self, device: Any = None) -> None:
        self._get_allocator(device).reset_accumulated_memory_stats()

    def memory_summary(self, device: Any = None, abbreviated: bool = False) -> str:
        """The counters as a table."""
        return _memory.memory_summary(
            self.memory_stats(device), self._index_of(device), abbreviated, self._device_name
        )

    def memory_snapshot(self, device: Any = None) -> dict[str, Any]:
        """Segments, blocks, history and settings of one device's allocator."""
        return dict(self._get_allocator(device).snapshot())

    def _snapshot(self, device: Any = None) -> dict[str, Any]:
        """The state of all devices (or one) in PyTorch's schema."""
        devices = self._in_use() if device is None else [self._index_of(device)]
        return _memory.torch_snapshot(self._get_allocator(index).snapshot() for index in devices)

    def _dump_snapshot(self, filename: str = "dump_snapshot.pickle") -> None:
        """Writes the state of all devices to a file that PyTorch's memory viewer opens."""
        _memory.dump_snapshot(self._snapshot(), filename)

    def _record_memory_history(
        self,
        enabled: Literal["state", "all"] | None = "all",
        context: Literal["state", "alloc", "all"] | None = "all",
        stacks: Literal["python", "all"] = "all",
        max_entries: int = sys.maxsize,
        device: Any = None,
        clear_history: bool = False,
    ) -> None:
        """Records where memory is allocated: live blocks ("state") or every action ("all"). None stops."""
        if enabled not in (None, "state", "all"):
            raise ValueError(f"enabled is {enabled!r}; wanted None, 'state' or 'all'")
        entries = {None: 0, "state": 1, "all": max_entries}[enabled]
        indices = self._in_use() if device is None else [self._index_of(device)]
        for index in indices or [self._index_of(None)]:
            self._get_allocator(index).record_memory_history(entries, context is not None, clear_history)

    def set_per_process_memory_fraction(self, fraction: float, device: Any = None) -> None:
        """The part of the device's memory this process may take, from 0 to 1."""
        if not isinstance(fraction, (int, float)):
            raise TypeError(f"Invalid type for fraction argument, must be `float`, got {type(fraction)}")
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
        self._get_allocator(device).set_memory_fraction(fraction)

    def get_per_process_memory_fraction(self, device: Any = None) -> float:
        return float(self._get_allocator(device).get_memory_fraction())
