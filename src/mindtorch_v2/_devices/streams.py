"""``torch.Stream`` and ``torch.Event``: queues of work on a device and marks in them, for every device.

An accelerator's module derives its own classes from :class:`DeviceStream` and :class:`DeviceEvent`, with ``_type``
(as in ``torch.device``), ``_native`` (the functions of its runtime in ``_C``) and ``_index`` (the number of a device);
:class:`StreamFunctions` are its functions about them. Called directly, ``torch.Stream(device)`` makes an object
of the device's class; the CPU has no queues, so its stream is always idle.
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from .. import _C
from . import registry


def _accelerator_class(name: str, device: Any) -> Any:
    """The class ``name`` of the module of a device, None for the CPU; no device is the accelerator there is."""
    found = registry.available() if device is None else registry.accelerator()
    if device is not None and not isinstance(device, int):
        kind = registry.type_of(device)
        found = registry.accelerators.get(kind)
        if found is None and kind != "cpu":
            there = ", ".join(registry.accelerators)
            raise RuntimeError(f"torch.{name} on '{kind}' is not supported; there are cpu and {there}")
    return None if found is None else getattr(found.module, name)


def _type_of_number(number: int) -> str:
    for found in registry.accelerators.values():
        if found.number == number:
            return found.type
    if number != 0:
        raise RuntimeError(f"torch.Stream: unknown device_type {number}")
    return "cpu"


def _require(value: Any, kind: type, function: str, argument: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(
            f"{function}(): argument '{argument}' must be {kind.__name__}, not {type(value).__name__}"
        )
    return value


class Stream:
    """A queue of work on a device. Streams are values: objects with the same handle are the same stream."""

    _type: ClassVar[str] = "cpu"
    _native: ClassVar[Any] = None
    _event_class: ClassVar[type[Event]]

    def __new__(cls, *args: Any, **known: Any) -> Any:
        if cls is not Stream:
            return super().__new__(cls)
        if "device_type" in known:
            device: Any = _type_of_number(known["device_type"])
        else:
            device = args[0] if args else known.get("device")
        return super().__new__(_accelerator_class("Stream", device) or Stream)

    def __init__(self, device: Any = None, priority: int = 0, **known: Any) -> None:
        # A stream that exists already (the default one, someone else's) is wrapped, not made.
        handle = known.pop("_handle", None)
        if "stream_id" in known:
            handle, device = known.pop("stream_id"), known.pop("device_index", None)
            known.pop("device_type", None)
        if known:
            raise TypeError(f"{type(self).__name__}() got unexpected arguments: {', '.join(known)}")
        if not isinstance(priority, int):
            raise TypeError(f"Stream(): argument 'priority' must be int, not {type(priority).__name__}")
        self.device_index = self._index(device)
        self.priority = priority
        if handle is None:
            handle = self._make(priority)
        self.handle: int = handle

    def _make(self, priority: int) -> int:
        return int(self._native.pooled_stream(self.device_index, priority)) if self._native else 0

    @staticmethod
    def _index(device: Any) -> int:
        return -1

    @property
    def device(self) -> Any:
        return _C.device(self._type, self.device_index) if self._native else _C.device("cpu")

    @property
    def device_type(self) -> int:
        """PyTorch's number of the kind of device."""
        return registry.accelerators[self._type].number if self._native else 0

    @property
    def stream_id(self) -> int:
        return self.handle

    @property
    def native_handle(self) -> int:
        """The stream's handle in the device's own library."""
        if self._native:
            self._native.share()  # who has it may enqueue work of their own
        return self.handle

    def wait_event(self, event: Event) -> None:
        """Work enqueued from now on runs after the event."""
        _require(event, Event, "wait_event", "event").wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Work enqueued from now on runs after everything that is in ``stream`` now."""
        self.wait_event(_require(stream, Stream, "wait_stream", "stream").record_event())

    def record_event(self, event: Any = None) -> Any:
        """Marks the point the stream has reached, in ``event`` or in a new one."""
        event = self._event_class() if event is None else _require(event, Event, "record_event", "event")
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work is done."""
        return not self._native or bool(self._native.stream_is_idle(self.device_index, self.handle))

    def synchronize(self) -> None:
        """Waits until all work is done."""
        if self._native:
            self._native.synchronize_stream(self.device_index, self.handle)

    def is_capturing(self) -> bool:
        """Whether what is enqueued on the stream is captured in a graph instead of run."""
        return bool(self._native) and bool(self._native.stream_is_capturing(self.device_index, self.handle))

    def __enter__(self) -> Stream:
        entered = self.__dict__.setdefault("_entered", [])
        native = self._native
        if native:
            index = self.device_index
            device = native.current_device()
            native.set_device(index)
            entered.append((device, native.current_stream(index)))
            native.set_stream(index, self.handle)
        return self

    def __exit__(self, *error: object) -> None:
        if self._native:
            device, previous = self.__dict__["_entered"].pop()
            self._native.set_stream(self.device_index, previous)
            self._native.set_device(device)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self._type, self.device_index, self.handle) == (other._type, other.device_index, other.handle)

    def __hash__(self) -> int:
        return hash((self._type, self.device_index, self.handle))

    def __repr__(self) -> str:
        if not self._native:
            return f"torch.Stream device_type=cpu, device_index={self.device_index}, stream_id={self.handle}"
        return f"<torch.{self._type}.Stream device={self.device} {self._type}_stream={self.handle:#x}>"


class Event:
    """A mark in a stream. Recording it again makes a new mark; waits that were enqueued keep the old one."""

    _native: ClassVar[Any] = None
    _type: ClassVar[str] = "cpu"

    def __new__(cls, *args: Any, **known: Any) -> Any:
        if cls is Event:
            device = args[0] if args else known.get("device")
            return super().__new__(_accelerator_class("Event", device) or Event)
        return super().__new__(cls)

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False,
        interprocess: bool = False,
    ) -> None:  # fmt: skip
        if enable_timing and interprocess:
            raise RuntimeError("an event for other processes (interprocess=True) cannot measure time")
        self._handle = 0
        self.enable_timing = enable_timing
        self.blocking = blocking
        self.interprocess = interprocess
        self.device_index: int | None = None

    def _make(self, device_index: int) -> None:
        self._handle = self._native.create_event(device_index, self.enable_timing, self.interprocess)
        self.device_index = device_index

    def record(self, stream: Any = None) -> None:
        """Marks the point that a stream (the current one) has reached."""
        if not self._native:
            return
        stream = self._stream_or_current(stream, "record")
        if not self._handle:
            self._make(stream.device_index)
        elif self.device_index != stream.device_index:
            raise RuntimeError(
                f"Event device {self.device_index} does not match recording stream's device "
                f"{stream.device_index}."
            )
        self._native.record_event(self._handle, stream.device_index, stream.handle)

    def wait(self, stream: Any = None) -> None:
        """Makes a stream wait for the mark. An event that was never recorded is no reason to wait."""
        stream = self._stream_or_current(stream, "wait")
        if self._handle:
            self._native.stream_wait_event(stream.device_index, stream.handle, self._handle)

    def query(self) -> bool:
        """Whether everything before the mark is done."""
        return not self._handle or bool(self._native.event_is_complete(self._handle))

    def synchronize(self) -> None:
        """Waits until everything before the mark is done."""
        if self._handle:
            self._native.synchronize_event(self._handle)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between this mark and ``end_event``."""
        _require(end_event, Event, "elapsed_time", "end_event")
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._handle and end_event._handle):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return float(self._native.elapsed_ms(self._handle, end_event._handle))

    def ipc_handle(self) -> bytes:
        """Bytes with which another process opens this event (:meth:`from_ipc_handle`)."""
        if not self.interprocess:
            raise RuntimeError(
                f"ipc_handle() wants an event made with torch.{self._type}.Event(interprocess=True)"
            )
        if not self._handle:
            self._make(self._stream_or_current(None, "ipc_handle").device_index)
        return bytes(self._native.export_event(self._handle))

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> Any:
        """The event of another process."""
        kind = _accelerator_class("Event", device) if cls is Event else cls
        if kind is None:
            raise RuntimeError("torch.Event.from_ipc_handle: events of the CPU cannot be shared")
        event = kind(interprocess=True)
        event.device_index = kind._index(device)
        event._handle = kind._native.import_event(event.device_index, handle)
        return event

    @staticmethod
    def _index(device: Any) -> int:
        raise NotImplementedError

    def _current_stream(self) -> Any:
        return registry.accelerators[self._type].module.current_stream()

    @property
    def event_id(self) -> int:
        return self._handle

    def _stream_or_current(self, stream: Any, function: str) -> Any:
        if stream is None:
            return self._current_stream() if self._native else None
        _require(stream, Stream, function, "stream")
        if stream._type != self._type:
            doing = "recording" if function == "record" else "blocking"
            raise RuntimeError(
                f"Event device type {self._type} does not match {doing} stream's device type {stream._type}."
            )
        return stream

    @property
    def device(self) -> Any:
        if not self._native:
            return _C.device("cpu")
        return None if self.device_index is None else _C.device(self._type, self.device_index)

    def __del__(self) -> None:
        if getattr(self, "_handle", 0) and not sys.is_finalizing():
            self._native.destroy_event(self._handle)

    def __repr__(self) -> str:
        if not self._native:
            return "torch.Event device_type=cpu, device_index=-1, event_flag=0, event_id=0"
        state = f"{self._handle:#x}" if self._handle else "uninitialized"
        return f"<torch.{self._type}.Event {state}>"


Stream._event_class = Event


class DeviceEvent(Event):
    """What ``torch.<device>.Event`` has of its own: arguments without names, after a device or in its place."""

    _no_external: ClassVar[str] = "use an event of the graph's own stream"

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
            raise NotImplementedError(f"torch.{self._type}.Event(external=True): {self._no_external}")
        self._index(known.pop("device", None))
        super().__init__(**known)


class DeviceStream(Stream):
    """What ``torch.<device>.Stream`` has of its own."""

    @classmethod
    def priority_range(cls) -> tuple[int, int]:
        """The lowest and the highest priority; (0, 0) if the runtime cannot be asked."""
        found = cls._native.stream_priority_range()
        return (0, 0) if found is None else (int(found[0]), int(found[1]))


class MadeElsewhere:
    """Comes before a device's stream in ``ExternalStream``: a stream that other code made and owns, by its handle."""

    _native: ClassVar[Any]

    def __init__(self, stream_ptr: int, device: Any = None, **known: Any) -> None:
        if not isinstance(stream_ptr, int) or stream_ptr == 0:
            raise ValueError(f"ExternalStream wants the handle of a stream, but got {stream_ptr!r}")
        self._native.share()
        super().__init__(device, _handle=stream_ptr, **known)  # type: ignore[call-arg]


class StreamContext:
    """``with torch.<device>.stream(s):`` — work inside goes to the stream, on the stream's device."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*error)


class StreamFunctions:
    """The functions of ``torch.<device>`` about streams, from its class of them."""

    def __init__(self, kind: type[DeviceStream]) -> None:
        self._kind = kind

    def stream(self, stream: Any) -> StreamContext:
        """Work inside of ``with torch.<device>.stream(s):`` goes to ``s``; None changes nothing."""
        return StreamContext(self._checked(stream, "stream"))

    def set_stream(self, stream: Any) -> None:
        """Makes a stream, and its device, this thread's current ones. None changes nothing."""
        if self._checked(stream, "set_stream") is not None:
            stream._native.set_device(stream.device_index)
            stream._native.set_stream(stream.device_index, stream.handle)

    def current_stream(self, device: Any = None) -> Any:
        """This thread's current stream on a device."""
        index = self._kind._index(device)
        return self._kind(index, _handle=self._kind._native.current_stream(index))

    def default_stream(self, device: Any = None) -> Any:
        """The stream that is current unless another is chosen."""
        index = self._kind._index(device)
        return self._kind(index, _handle=self._kind._native.default_stream(index))

    _DEBUG_MODES: ClassVar = {"default": 0, "warn": 1, "error": 2}

    def set_sync_debug_mode(self, debug_mode: int | str) -> None:
        """What happens where the host waits inside an operator: nothing ("default", 0), a warning ("warn", 1) or
        an error ("error", 2)."""
        if isinstance(debug_mode, str):
            if debug_mode not in self._DEBUG_MODES:
                raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
            debug_mode = self._DEBUG_MODES[debug_mode]
        if not isinstance(debug_mode, int):
            raise TypeError(f"debug_mode is a number or a text, but got {type(debug_mode).__name__}")
        if debug_mode not in self._DEBUG_MODES.values():
            raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
        self._kind._native.set_sync_debug_mode(debug_mode)

    def get_sync_debug_mode(self) -> int:
        """The mode of :meth:`set_sync_debug_mode` as a number."""
        return int(self._kind._native.sync_debug_mode())

    def _checked(self, stream: Any, function: str) -> Any:
        kind = self._kind._type
        if stream is not None and not (isinstance(stream, Stream) and stream._type == kind):
            raise TypeError(f"torch.{kind}.{function}() wants a stream of {kind} or None, but got {stream!r}")
        return stream
