"""Recorded events as objects with PyTorch's attributes, which can also be read as mappings."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any

from ._format import format_time

OPERATOR, ANNOTATION, MEMORY = range(3)  # kinds of native rows
_BATCH = 4096  # rows that are read from a native trace at once
_STEP_PREFIX = "ProfilerStep#"


class DeviceType(enum.IntEnum):
    """Whose clock an event was taken with. The numbers are those of PyTorch's traces."""

    CPU = 0
    CUDA = 1
    NPU = 20


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


class _Times:
    """The times that events and averages are asked for, from the totals each of them has."""

    __slots__ = ()
    count: int
    cpu_time_total: float
    self_cpu_time_total: float

    # Times on the device itself: no device clock is recorded yet, so there are none.
    device_time_total = 0.0
    self_device_time_total = 0.0

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One operator or annotation.

    ``device_type`` is the clock of the event, as in PyTorch: the host's, for operators on every device.
    ``event["device_type"]`` is where the operator ran: "CPU" or "NPU".
    """

    __slots__ = (
        "cpu_children", "cpu_parent", "device_memory_usage", "duration_ns", "id", "input_dtypes",
        "input_shapes", "input_strides", "is_user_annotation", "memory_after", "memory_before", "name", "npu",
        "overload_name", "step", "thread", "time_range", "trace_name",
    )  # fmt: skip

    count = 1
    node_id = -1
    sequence_nr = -1
    is_async = False
    is_remote = False
    is_legacy = False
    fwd_thread = None
    device_type = DeviceType.CPU
    use_device = "npu"
    cpu_memory_usage = 0
    self_cpu_memory_usage = 0
    flops = 0
    kernels: tuple[Any, ...] = ()
    stack: tuple[Any, ...] = ()

    def __init__(self, event_id: int, row: tuple[Any, ...], thread: int, base_ns: int) -> None:
        kind, name, overload, _, start_ns, end_ns, _, step, npu, data = row
        self.id = event_id
        self.trace_name = name
        # Steps share one row of key_averages().
        self.name = "ProfilerStep*" if kind == ANNOTATION and name.startswith(_STEP_PREFIX) else name
        self.overload_name = overload
        self.thread = thread
        self.time_range = Interval((start_ns - base_ns) / 1000, (end_ns - base_ns) / 1000)
        self.duration_ns = end_ns - start_ns
        self.step = step
        self.npu: int = npu
        self.is_user_annotation = kind == ANNOTATION
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.device_memory_usage = 0
        self.input_shapes: list[list[int]] = []
        self.input_strides: list[list[int]] = []
        self.input_dtypes: list[str] = []
        self.memory_before = self.memory_after = -1
        if kind == MEMORY:
            self.device_memory_usage = data[0]
            return
        self.memory_before, self.memory_after, inputs = data
        for given in inputs or ():
            dtype, shape, strides = given or ("", [], [])
            self.input_dtypes.append(dtype)
            self.input_shapes.append(shape)
            self.input_strides.append(strides)

    @property
    def key(self) -> str:
        return self.name

    @property
    def scope(self) -> int:
        return 7 if self.is_user_annotation else 0  # PyTorch's RecordScope: USER_SCOPE, FUNCTION

    @property
    def device_index(self) -> int:
        return self.npu

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    @property
    def metadata(self) -> dict[str, Any]:
        """The NPU's memory before and after, under ``profile_memory=True``."""
        return memory_fields(self.memory_before, self.memory_after)

    # --- as a mapping ---

    @property
    def _mapping(self) -> dict[str, Any]:
        return {
            "name": self.trace_name,
            "kind": "scope" if self.is_user_annotation else "op",
            "step": self.step,
            "device_type": "NPU" if self.npu >= 0 else "CPU",
            "duration_ns": self.duration_ns,
            "start_us": self.time_range.start,
            "thread": self.thread,
            **self.metadata,
        }

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
        return (
            f"<FunctionEvent id={self.id} name={self.name} thread={self.thread} "
            f"cpu_time={self.cpu_time_str} start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} input_shapes={self.input_shapes} "
            f"device_memory_usage={self.device_memory_usage}>"
        )


def memory_fields(before: int, after: int) -> dict[str, int]:
    """The three fields of an event whose NPU memory was read; none for others (-1 means not read)."""
    if before < 0 or after < 0:
        return {}
    return {
        "npu_memory_allocated_before": before,
        "npu_memory_allocated_after": after,
        "npu_memory_allocated_delta": after - before,
    }


def native_rows(trace: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of a native trace in the order of their ids, a batch in memory at a time."""
    for begin in range(0, len(trace), _BATCH):
        yield from trace.rows(begin, begin + _BATCH)


def build_events(trace: Any, base_ns: int) -> list[FunctionEvent]:
    """The events of a native trace by start time, linked to their parents and children."""
    numbers = [number for number, _ in trace.threads()]
    by_id: list[FunctionEvent | None] = []
    result: list[FunctionEvent] = []
    for event_id, row in enumerate(native_rows(trace)):
        kind, parent = row[0], row[6]
        outer = by_id[parent] if parent >= 0 else None
        if kind == MEMORY and outer is not None:
            by_id.append(None)  # it is part of what it happened in
            while outer is not None:
                outer.device_memory_usage += row[9][0]
                outer = outer.cpu_parent
            continue
        event = FunctionEvent(event_id, row, numbers[row[3]], base_ns)
        event.cpu_parent = outer
        if outer is not None:
            outer.cpu_children.append(event)
        by_id.append(event)
        result.append(event)
    result.sort(key=lambda event: event.time_range.start)  # stable: a thread's own order stays
    return result
