"""``prof.profiler.kineto_results``: a recording as the objects that PyTorch's own profiler makes of it.

Tools read two views: a flat list of events (:meth:`KinetoResults.events`) and a tree of what happened on the host
(:meth:`KinetoResults.experimental_event_tree`). Both are made of the native trace when they are asked for. Times are
nanoseconds since 1970.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from .. import _C
from ._function_event import FunctionEvent
from ._kinds import MEMORY_EVENT_NAME, WORK, DeviceType, EventKind, RecordScope
from ._rows import MemoryRow, TaskRow, accelerator_of, event_rows, index_of, task_rows


class EventType(enum.Enum):
    """What an event of the tree is, by PyTorch's numbers."""

    TorchOp = 0
    Backend = 1
    Allocation = 3
    OutOfMemory = 4
    PyCall = 5
    PyCCall = 6
    Kineto = 7


class KinetoEvent:
    """An event of the flat list: PyTorch's methods over what was recorded."""

    def __init__(self, event: FunctionEvent, row: Any, epoch_ns: int) -> None:
        self._event, self._row, self._epoch_ns = event, row, epoch_ns

    def name(self) -> str:
        return self._event.trace_name

    def overload_name(self) -> str:
        return self._event.overload_name

    def start_ns(self) -> int:
        return int(self._row.start_ns) + self._epoch_ns

    def end_ns(self) -> int:
        return int(self._row.end_ns) + self._epoch_ns

    def duration_ns(self) -> int:
        return int(self._row.end_ns - self._row.start_ns)

    def device_type(self) -> DeviceType:
        if isinstance(self._row, MemoryRow) and self._row.device >= 0:
            return DeviceType(accelerator_of(self._row.device).number)
        return self._event.device_type

    def device_index(self) -> int:
        return self._event.device_index

    def device_resource_id(self) -> int:
        return self._event.device_resource_id

    def activity_type(self) -> str:
        return self._event.activity_type

    def start_thread_id(self) -> int:
        return self._event.thread

    def end_thread_id(self) -> int:
        return self._event.thread

    def fwd_thread_id(self) -> int:
        return self._event.fwd_thread

    def correlation_id(self) -> int:
        return self._event.external_id

    def external_id(self) -> int:
        return self._event.external_id

    def linked_correlation_id(self) -> int:
        return self._event.linked_correlation_id

    def sequence_nr(self) -> int:
        return self._event.sequence_nr

    def flow_id(self) -> int:
        return self._event.flow_id

    def flow_type(self) -> int:
        return self._event.flow_type

    def flow_start(self) -> bool:
        return self._event.flow_start

    def scope(self) -> int:
        return self._event.scope

    def shapes(self) -> list[Any]:
        return self._event.input_shapes

    def structured_input_shapes(self) -> list[Any]:
        return self._event.input_shapes

    def structured_input_strides(self) -> list[Any]:
        return self._event.input_strides

    def dtypes(self) -> list[str]:
        return self._event.input_dtypes

    def concrete_inputs(self) -> list[Any]:
        return self._event.concrete_inputs

    def kwinputs(self) -> dict[str, Any]:
        return {}

    def stack(self) -> list[str]:
        return list(self._event.stack)

    def flops(self) -> int:
        return self._event.flops

    def nbytes(self) -> int:
        """Bytes that were allocated, negative ones given back; of a copy, bytes that were moved."""
        return int(self._row.size) if isinstance(self._row, (MemoryRow, TaskRow)) else 0

    def is_async(self) -> bool:
        return False

    def is_hidden_event(self) -> bool:
        return False

    def is_user_annotation(self) -> bool:
        return self._event.is_user_annotation

    def is_python_function(self) -> bool:
        return self._event.is_python_function

    def python_id(self) -> int:
        return self._event.python_id

    def python_parent_id(self) -> int:
        return self._event.python_parent_id

    def python_module_id(self) -> int:
        return self._event.python_module_id

    def metadata_json(self) -> str:
        return ""

    def extra_meta(self) -> dict[str, str]:
        return {}

    def __repr__(self) -> str:
        return f"<_KinetoEvent {self.name()} of {self.duration_ns()} ns>"


class TorchOpFields:
    """What the tree knows of an operator or an annotation."""

    def __init__(self, event: FunctionEvent) -> None:
        self.name = event.trace_name
        self.inputs = event.concrete_inputs
        self.input_shapes = event.input_shapes
        self.scope = RecordScope(event.scope)
        self.sequence_number = event.sequence_nr


class AllocationFields:
    """What the tree knows of memory that was handed out or given back."""

    def __init__(self, row: MemoryRow) -> None:
        self.ptr = row.address
        self.alloc_size = row.size
        self.total_allocated = row.total_allocated
        self.total_reserved = row.total_reserved
        self.device = (
            _C.device("cpu")
            if row.device < 0
            else _C.device(accelerator_of(row.device).type, index_of(row.device))
        )


class PyCallFields:
    """What the tree knows of a call of a Python function or module."""

    def __init__(self, event: FunctionEvent) -> None:
        self.name = event.trace_name
        self.is_module = event.kind is EventKind.MODULE


class BackendFields:
    """What the tree knows of a call of a device's runtime."""

    def __init__(self, event: FunctionEvent) -> None:
        self.name = event.trace_name
        self.linked_correlation_id = event.linked_correlation_id


class ProfilerEvent:
    """An event of the tree, with what happened inside of it as ``children``."""

    def __init__(self, event: KinetoEvent, parent: ProfilerEvent | None) -> None:
        found = event._event
        self.name = event.name()
        self.overload_name = event.overload_name()
        self.id = found.id
        self.correlation_id = event.correlation_id()
        self.start_tid = event.start_thread_id()
        self.start_time_ns = event.start_ns()
        self.end_time_ns = event.end_ns()
        self.duration_time_ns = event.duration_ns()
        self.parent = parent
        self.children: list[ProfilerEvent] = []
        self.typed: tuple[EventType, Any] = _typed(found, event._row)

    @property
    def tag(self) -> EventType:
        return self.typed[0]

    @property
    def extra_fields(self) -> Any:
        return self.typed[1]

    def __repr__(self) -> str:
        return f"<_ProfilerEvent {self.name} with {len(self.children)} children>"


def _typed(event: FunctionEvent, row: Any) -> tuple[EventType, Any]:
    if isinstance(row, MemoryRow):
        fields = AllocationFields(row)
        return (EventType.Allocation if row.name == MEMORY_EVENT_NAME else EventType.OutOfMemory), fields
    if event.is_python_function:
        return EventType.PyCall, PyCallFields(event)
    if event.kind is EventKind.CALL:
        return EventType.Backend, BackendFields(event)
    return EventType.TorchOp, TorchOpFields(event)


class KinetoResults:
    """A finished recording; see the module."""

    def __init__(self, trace: Any, recording: Any) -> None:
        self._trace, self._recording = trace, recording

    def trace_start_ns(self) -> int:
        """When the recording began."""
        return int(self._trace.start_ns + self._trace.epoch_offset_ns)

    def _host_events(self) -> Iterator[KinetoEvent]:
        numbers = [number for number, _ in self._trace.threads()]
        shapes = self._recording.record_shapes
        for place, row in enumerate(event_rows(self._trace)):
            event = FunctionEvent.from_row(place, row, numbers[row.thread], self._trace.start_ns, None)
            if not shapes:
                event._arguments = ()
            yield KinetoEvent(event, row, self._trace.epoch_offset_ns)

    def events(self) -> list[KinetoEvent]:
        """Everything that was recorded, on the host and on devices, by start."""
        found = list(self._host_events())
        numbers = [number for number, _ in self._trace.threads()]
        for place, task in enumerate(task_rows(self._trace), start=len(found)):
            if task.kind in WORK:
                thread = numbers[task.thread] if task.thread >= 0 else 0
                event = FunctionEvent.from_task(place, task, thread, self._trace.start_ns, None)
                found.append(KinetoEvent(event, task, self._trace.epoch_offset_ns))
        return sorted(found, key=lambda event: (event.start_ns(), -event.end_ns()))

    def experimental_event_tree(self) -> list[ProfilerEvent]:
        """What happened on the host, outermost events first, each with what happened inside of it."""
        made: list[ProfilerEvent] = []
        roots: list[ProfilerEvent] = []
        for event in self._host_events():
            outer = made[event._row.parent] if event._row.parent >= 0 else None
            made.append(ProfilerEvent(event, outer))
            (roots if outer is None else outer.children).append(made[-1])
        return roots

    def save(self, path: str) -> None:
        """Writes the trace for chrome://tracing."""
        self._recording.export_chrome_trace(path)
