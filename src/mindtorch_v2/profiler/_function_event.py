"""Recorded events as objects with PyTorch's attributes, which can also be read as mappings."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .._devices import registry
from ._arguments import Argument, decode, shape_of, strides_of, type_of, value_of
from ._collectives import fields
from ._format import format_time
from ._kinds import STEP_PREFIX, DeviceType, EventKind, RecordScope, TaskKind
from ._memory_use import MemoryUse
from ._rows import EventRow, MemoryRow, TaskRow, accelerator_of, index_of
from ._trace_names import RUNTIME

_ACTIVITIES = {
    EventKind.ANNOTATION: "user_annotation", EventKind.MEMORY: "cpu_instant_event",
    EventKind.MODULE: "python_function", EventKind.PYTHON: "python_function", EventKind.CALL: RUNTIME,
}  # fmt: skip
_EVENT_KINDS = tuple(EventKind)
_KIND_NAMES = {
    EventKind.ANNOTATION: "scope", EventKind.MODULE: "scope", EventKind.PYTHON: "scope", EventKind.CALL: "call",
}  # fmt: skip
_TASK_ACTIVITIES = {
    TaskKind.KERNEL: "kernel", TaskKind.COPY: "gpu_memcpy", TaskKind.HOST_COPY: "gpu_memcpy",
    TaskKind.FILL: "gpu_memset",
}  # fmt: skip


class Interval:
    """Start and end in microseconds since the recording began."""

    __slots__ = ("start", "end")

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval(start={self.start}, end={self.end})"


class Kernel(NamedTuple):
    """A task that an operator launched; the duration is in microseconds."""

    name: str
    device: int
    duration: float


class FormattedTimesMixin:
    """Averages and texts, from the totals that events and averages of them have."""

    __slots__ = ()
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total: float
    self_device_time_total: float

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def cuda_time(self) -> float:
        warnings.warn(
            "`cuda_time` is deprecated, please use `device_time` instead.", FutureWarning, stacklevel=2
        )
        return self.device_time

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def device_time_str(self) -> str:
        return format_time(self.device_time)

    @property
    def device_time_total_str(self) -> str:
        return format_time(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return format_time(self.self_device_time_total)


class FunctionEvent(FormattedTimesMixin):
    """An operator, an annotation, a call of the device's runtime, or a task of the device.

    ``device_type`` is the clock of the event, as in PyTorch: the host's for operators on every device, the
    device's for its tasks. ``event["device_type"]`` is where it ran: "CPU" or the accelerator's.
    """

    __slots__ = (
        "_arguments", "_details", "_device", "activity_type", "cpu_children", "cpu_memory_usage", "cpu_parent",
        "device_index", "device_memory_usage", "device_resource_id", "device_type", "duration_ns", "flops", "flow_id",
        "flow_start", "flow_type", "fwd_thread", "id", "is_async", "is_legacy", "is_remote", "kernels", "kind",
        "linked_correlation_id", "memory", "memory_after", "memory_before", "module_hierarchy", "name", "node_id",
        "overload_name", "python_id", "python_module_id", "python_parent_id", "sequence_nr", "stack", "step",
        "thread", "time_range", "trace_name", "use_device",
    )  # fmt: skip

    count = 1
    event_metadata = None  # of Kineto's, which knows CUDA's kernels more closely
    _metadata_json = ""

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        *,
        stack: Iterable[str] = (),
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        is_user_annotation: bool = False,
    ) -> None:
        """An operator of the host, or an annotation, that a program describes itself."""
        kind = EventKind.ANNOTATION if is_user_annotation else EventKind.OPERATOR
        times = round(start_us * 1000), round(end_us * 1000)
        self._fill(id, kind, name, thread, *times, device=-1, use_device=use_device)
        self.overload_name = overload_name or ""
        self.fwd_thread = fwd_thread or 0
        self.stack += tuple(stack)
        self.cpu_memory_usage, self.device_memory_usage = cpu_memory_usage, device_memory_usage
        self.is_async, self.is_remote, self.is_legacy = is_async, is_remote, is_legacy
        self.sequence_nr, self.node_id = sequence_nr, node_id
        self.flops = flops or 0
        self.trace_name = trace_name or name

    def _fill(
        self,
        event_id: int,
        kind: EventKind | TaskKind,
        name: str,
        thread: int,
        start_ns: int,
        end_ns: int,
        *,
        device: int,
        use_device: str | None,
    ) -> FunctionEvent:
        self.id = event_id
        self.node_id = -1
        self.is_async = self.is_remote = self.is_legacy = False
        self.kind = kind
        self.trace_name = name
        self.name = name
        self.thread = thread
        self.time_range = Interval(start_ns / 1000, end_ns / 1000)
        self.duration_ns = end_ns - start_ns
        self._device = device  # the row's number
        self.device_index = index_of(device)
        self.use_device = use_device
        self.overload_name = ""
        self.step = 0
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.kernels: list[Kernel] = []
        self.cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.memory: MemoryUse | None = None  # with profile_memory=True, of what allocated or freed
        self.memory_before: int | None = None
        self.memory_after: int | None = None
        self._details = ""  # of a collective
        self.flops = 0
        self.stack: tuple[str, ...] = ()
        self.module_hierarchy = ""
        self.sequence_nr = -1
        self.fwd_thread = 0  # of a node of the backward pass: where its forward ran
        self.flow_id = 0  # of an arrow from forward to backward (type 1): the number of the node
        self.flow_type = 0
        self.flow_start = False
        self.python_id = self.python_parent_id = self.python_module_id = -1  # of calls of Python functions
        self.linked_correlation_id = 0
        self.device_resource_id = thread
        self.device_type = DeviceType.CPU
        self._arguments: tuple[Argument, ...] = ()
        self.activity_type = _ACTIVITIES.get(kind, "cpu_op") if isinstance(kind, EventKind) else ""
        return self

    @classmethod
    def from_row(
        cls, event_id: int, row: EventRow | MemoryRow, thread: int, base_ns: int, use_device: str | None
    ) -> FunctionEvent:
        """An event of the host."""
        kind = _EVENT_KINDS[row.kind]
        event = cls.__new__(cls)._fill(
            event_id, kind, row.name, thread, row.start_ns - base_ns, row.end_ns - base_ns,
            device=row.device, use_device=use_device,
        )  # fmt: skip
        if kind is EventKind.ANNOTATION and row.name.startswith(STEP_PREFIX):
            event.name = "ProfilerStep*"  # steps share one row of key_averages()
        event.overload_name = row.overload
        event.step = row.step
        if isinstance(row, MemoryRow):
            if row.device < 0:
                event.cpu_memory_usage = row.size
            else:
                event.device_memory_usage = row.size
            return event
        event.memory_before, event.memory_after = row.memory_before, row.memory_after
        event._details = row.details
        if row.inputs is not None:
            event._arguments = decode(row.inputs)
        if kind in (EventKind.OPERATOR, EventKind.VISIT, EventKind.RUN):
            event.sequence_nr = row.number
        elif kind is EventKind.CALL:
            event.linked_correlation_id = row.number
        return event

    @classmethod
    def from_task(
        cls, event_id: int, task: TaskRow, thread: int, base_ns: int, use_device: str | None
    ) -> FunctionEvent:
        """What a device did."""
        event = cls.__new__(cls)._fill(
            event_id, task.kind, task.name, thread, task.start_ns - base_ns, task.end_ns - base_ns,
            device=task.device, use_device=use_device,
        )  # fmt: skip
        event.device_type = DeviceType(accelerator_of(task.device).number)
        event.device_resource_id = task.stream
        event.linked_correlation_id = task.correlation
        event.activity_type = _TASK_ACTIVITIES[task.kind]
        return event

    # --- what it is ---

    @property
    def key(self) -> str:
        return self.name

    @property
    def scope(self) -> int:
        if self.kind is EventKind.RUN:
            return RecordScope.BACKWARD_FUNCTION.value
        return (RecordScope.USER_SCOPE if self.kind is EventKind.ANNOTATION else RecordScope.FUNCTION).value

    @property
    def is_user_annotation(self) -> bool:
        return self.kind is EventKind.ANNOTATION

    @property
    def is_python_function(self) -> bool:
        return self.kind is EventKind.MODULE or self.kind is EventKind.PYTHON

    @property
    def external_id(self) -> int:
        return self.id + 1

    # --- arguments ---

    @property
    def input_shapes(self) -> list[list[Any]]:
        """Sizes of every argument, as far as it is a tensor, with ``record_shapes=True``."""
        return [shape_of(argument) for argument in self._arguments]

    @property
    def input_strides(self) -> list[list[Any]]:
        return [strides_of(argument) for argument in self._arguments]

    @property
    def input_dtypes(self) -> list[str]:
        """C++ names of the tensors' types, as in PyTorch; "Scalar" and "ScalarList" for numbers."""
        return [type_of(argument) for argument in self._arguments]

    structured_input_shapes = input_shapes
    structured_input_strides = input_strides

    @property
    def kwinputs(self) -> dict[str, Any]:
        """Arguments are recorded by position."""
        return {}

    @property
    def concrete_inputs(self) -> list[Any]:
        """Values of the arguments that are numbers or texts; None for the others."""
        return [value_of(argument) for argument in self._arguments]

    # --- times, in microseconds ---

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.time_range.elapsed_us() if self.device_type is DeviceType.CPU else 0.0

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self) -> float:  # type: ignore[override]
        if self.device_type is not DeviceType.CPU:
            return self.time_range.elapsed_us()
        return self.self_device_time_total + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:  # type: ignore[override]
        if self.device_type is not DeviceType.CPU:
            return self.time_range.elapsed_us()
        return float(sum(kernel.duration for kernel in self.kernels))

    # --- memory, in bytes ---

    @property
    def self_cpu_memory_usage(self) -> int:
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    @property
    def metadata(self) -> dict[str, Any]:
        """Memory before and after, under ``profile_memory=True``; of a collective, what it is."""
        carried = self.kind is not EventKind.OPERATOR
        return {
            **memory_fields(self._device, self.memory_before, self.memory_after),
            **fields(self._details, self.duration_ns, carried),
        }

    # --- older names, which PyTorch warns about ---

    @property
    def cuda_time_total(self) -> float:
        _deprecated("cuda_time_total", "device_time_total")
        return self.device_time_total

    @property
    def self_cuda_time_total(self) -> float:
        _deprecated("self_cuda_time_total", "self_device_time_total")
        return self.self_device_time_total

    @property
    def self_cuda_memory_usage(self) -> int:
        _deprecated("self_cuda_memory_usage", "self_device_memory_usage")
        return self.self_device_memory_usage

    @property
    def metadata_json(self) -> str:
        _deprecated("metadata_json", "event_metadata")
        return self._metadata_json

    # --- as a mapping ---

    @property
    def _mapping(self) -> dict[str, Any]:
        if isinstance(self.kind, TaskKind):
            kind = "task"
        else:
            kind = _KIND_NAMES.get(self.kind, "op")
        return {
            "name": self.trace_name,
            "kind": kind,
            "step": self.step,
            "device_type": accelerator_of(self._device).title if self._device >= 0 else "CPU",
            "duration_ns": self.duration_ns,
            "start_us": self.time_range.start,
            "thread": self.thread,
            **self.metadata,
        }

    def __getattr__(self, name: str) -> int:
        """``event.<type>``: which device of that type it ran on, -1 for another place."""
        if name in registry.accelerators:
            return (
                self.device_index if self._device >= 0 and name == accelerator_of(self._device).type else -1
            )
        raise AttributeError(f"'FunctionEvent' object has no attribute {name!r}")

    def __getitem__(self, key: str) -> Any:
        return self._mapping[key]

    def __contains__(self, key: object) -> bool:
        return key in self._mapping

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping)

    def keys(self) -> Iterable[str]:
        return self._mapping.keys()

    def get(self, key: str, default: Any = None) -> Any:
        return self._mapping.get(key, default)

    def __repr__(self) -> str:
        device = self.use_device
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} {device}_time={self.device_time_str} "
            f"name={self.name} thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage} "
            f"is_async={self.is_async} is_remote={self.is_remote} seq_nr={self.sequence_nr} "
            f"is_legacy={self.is_legacy}>"
        )


def _deprecated(name: str, instead: str) -> None:
    warnings.warn(f"`{name}` is deprecated. Use `{instead}` instead.", FutureWarning, stacklevel=3)


def memory_fields(device: int, before: int | None, after: int | None) -> dict[str, int]:
    """The three fields of an event whose memory was read; none for others."""
    if before is None or after is None:
        return {}
    kind = accelerator_of(device).type if device >= 0 else "cpu"
    return {
        f"{kind}_memory_allocated_before": before,
        f"{kind}_memory_allocated_after": after,
        f"{kind}_memory_allocated_delta": after - before,
    }
