"""From a native trace to linked events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._flops import SHOWN_IN, flops_of
from ._function_event import FunctionEvent, Kernel
from ._kinds import MEMORY_EVENT_NAME, WORK, EventKind
from ._memory_use import attribute_memory
from ._python_calls import call_name, module_number
from ._rows import MemoryRow, event_rows, task_rows
from ._stacks import stack_of

_FORWARD_TO_BACKWARD = 1  # Kineto's type of an arrow


def build_events(
    trace: Any,
    base_ns: int,
    *,
    use_device: str | None,
    shapes: bool,
    flops: bool,
    module_paths: Mapping[str, str],
) -> list[FunctionEvent]:
    """The events of a native trace by start time, linked to their parents and children."""
    numbers = [number for number, _ in trace.threads()]
    by_id: list[FunctionEvent | None] = []
    result: list[FunctionEvent] = []
    changes: list[tuple[int, int, int, int, FunctionEvent | None]] = []
    calls = 0
    for event_id, row in enumerate(event_rows(trace)):
        outer = by_id[row.parent] if row.parent >= 0 else None
        if isinstance(row, MemoryRow):
            if row.name != MEMORY_EVENT_NAME:
                outer = None  # an allocation that failed is no memory of what wanted it
            else:
                changes.append((row.start_ns, row.device, row.address, row.size, outer))
                if outer is not None:
                    by_id.append(None)  # it is part of what it happened in
                    continue
        event = FunctionEvent.from_row(event_id, row, numbers[row.thread], base_ns, use_device)
        if not isinstance(row, MemoryRow) and row.kind != EventKind.CALL:
            event.stack = stack_of(row.stack)
        while outer is not None and outer.time_range.end < event.time_range.end:
            outer = outer.cpu_parent  # an annotation that was opened in one function and closed in another
        if event.is_python_function:
            calls += 1
            _number(event, calls, outer)
        event.cpu_parent = outer
        if outer is not None:
            outer.cpu_children.append(event)
            event.module_hierarchy = outer.module_hierarchy
        if row.kind == EventKind.MODULE:
            event.module_hierarchy = module_paths.get(event.name, "")
        if flops and row.kind == EventKind.OPERATOR:
            _count(event, flops_of(event.name, event._arguments))
        if not shapes:
            event._arguments = ()  # recorded for the formulas alone
        by_id.append(event)
        result.append(event)
    attribute_memory(changes)
    _link_backward(result)
    result += _device_events(trace, base_ns, by_id, numbers, use_device)
    result = _without_repetitions(result)
    result.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    return result


def _number(event: FunctionEvent, number: int, outer: FunctionEvent | None) -> None:
    """The numbers by which calls of Python functions refer to each other."""
    while outer is not None and not outer.is_python_function:
        outer = outer.cpu_parent
    event.python_id = number
    event.python_parent_id = outer.python_id if outer is not None else -1
    if event.kind is EventKind.MODULE:
        event.python_module_id = module_number(event.name)
    else:
        event.name = event.trace_name = call_name(event.name)


def _count(event: FunctionEvent, flops: int) -> None:
    shown_in = SHOWN_IN.get(event.name)
    target: FunctionEvent | None = event
    while shown_in and target is not None and not target.name.startswith(shown_in):
        target = target.cpu_parent
    (target or event).flops += flops


def _link_backward(events: list[FunctionEvent]) -> None:
    """Nodes know the thread of their forward; what runs inside them has the stack of the forward."""
    forward: dict[int, FunctionEvent] = {}
    innermost: dict[int, FunctionEvent] = {}
    for event in events:
        if event.kind is EventKind.OPERATOR and event.sequence_nr >= 0:
            forward.setdefault(event.sequence_nr, event)
            innermost[event.sequence_nr] = event
    for event in events:
        outer = event.cpu_parent
        if event.kind in (EventKind.VISIT, EventKind.RUN):
            made_by = forward.get(event.sequence_nr)
            if made_by is not None:
                event.fwd_thread = made_by.thread
                event.stack = made_by.stack
                event.module_hierarchy = made_by.module_hierarchy
                start = innermost[event.sequence_nr]
                start.flow_start = True
                for end in (start, event):
                    end.flow_id, end.flow_type = event.sequence_nr, _FORWARD_TO_BACKWARD
        elif outer is not None and outer.kind is EventKind.RUN:
            event.stack = outer.stack
            event.module_hierarchy = outer.module_hierarchy


def _device_events(
    trace: Any,
    base_ns: int,
    by_id: list[FunctionEvent | None],
    numbers: list[int],
    use_device: str | None,
) -> Iterator[FunctionEvent]:
    for place, task in enumerate(task_rows(trace)):
        if task.kind not in WORK:
            continue
        thread = numbers[task.thread] if task.thread >= 0 else 0
        event = FunctionEvent.from_task(len(by_id) + place, task, thread, base_ns, use_device)
        operator = by_id[task.launcher] if task.launcher >= 0 else None
        if operator is not None:
            event.step, event._details = operator.step, operator._details
            operator.kernels.append(Kernel(task.name, task.device, (task.end_ns - task.start_ns) / 1000))
        yield event


def _without_repetitions(events: list[FunctionEvent]) -> list[FunctionEvent]:
    """An event alone in one of the same name says nothing new: only the outer one stays, as in PyTorch."""
    kept = []
    for event in events:
        outer = event.cpu_parent
        if outer is None or outer.name != event.name or len(outer.cpu_children) != 1:
            kept.append(event)
            continue
        outer.cpu_children = event.cpu_children
        outer.kernels += event.kernels
        outer.flops += event.flops
        for child in event.cpu_children:
            child.cpu_parent = outer
    return kept
