"""What the native recorder hands over, with names: the one place that knows the order of its tuples.

``csrc/bindings/init_profiler.cpp`` makes them. Times are nanoseconds of the steady clock; -1 stands for none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import _C
from .._devices import registry
from .._devices.accelerator import Accelerator
from ._kinds import EventKind, TaskKind

_native = _C._profiler
_BATCH = 4096  # rows that are read from a native trace at once


class EventRow(NamedTuple):
    """Something that took time on the host. Its id is its place among the rows."""

    kind: int  # an EventKind
    name: str
    overload: str
    thread: int  # place in Trace.threads()
    start_ns: int
    end_ns: int
    parent: int  # the id of the event around it
    step: int
    device: int  # a number for accelerator_of() and index_of(); -1: the host
    number: int  # of the autograd node; of a call: what it has in common with its task
    memory_before: int | None
    memory_after: int | None
    stack: int  # for stack_of(); 0 for none
    inputs: bytes | None
    details: str  # of a collective: members of a JSON object


class MemoryRow(NamedTuple):
    """An allocation or a free, among the rows of events."""

    kind: int
    name: str
    overload: str
    thread: int
    start_ns: int
    end_ns: int
    parent: int
    step: int
    device: int  # a number for accelerator_of() and index_of(); -1: the host
    address: int
    size: int  # negative: given back
    total_allocated: int
    total_reserved: int


class TaskRow(NamedTuple):
    """Something that a device did, or that somebody waited for."""

    kind: TaskKind
    call: str  # the vendor's function
    name: str  # of what the device does
    device: int
    stream: int
    size: int
    correlation: int
    awaited: int  # the correlation of what is waited for
    thread: int  # place in Trace.threads(); -1: others than this library launched it
    launcher: int  # the id of the operator
    launch_ns: int
    start_ns: int
    end_ns: int
    details: str  # members of a JSON object


def accelerator_of(number: int) -> Accelerator:
    """The kind of a device that rows have a number for."""
    return registry.accelerators[_native.device(number).type]


def index_of(number: int) -> int:
    """The index of such a device; -1 for the host."""
    return number % _native.most_devices if number >= 0 else -1


def traced_accelerator(trace: Any) -> Accelerator:
    """The kind of accelerator that a trace is about: the first that appears in it."""
    return next((accelerator_of(number) for number in trace.devices()), registry.accelerator())


def event_rows(trace: Any) -> Iterator[EventRow | MemoryRow]:
    """The host's events in the order of their ids, a batch in memory at a time."""
    make: Any = tuple.__new__  # a million rows are common, and _make() is slow
    memory = int(EventKind.MEMORY)
    for begin in range(0, len(trace), _BATCH):
        for row in trace.rows(begin, begin + _BATCH):
            yield make(MemoryRow if row[0] == memory else EventRow, row[:-1] + row[-1])


def task_rows(trace: Any) -> Iterator[TaskRow]:
    """What devices did, in the order of the launches; without what they were not seen to end (both times are 0)."""
    for kind, *others in trace.tasks():
        row = TaskRow(TaskKind(kind), *others)
        if row.start_ns:
            yield row
