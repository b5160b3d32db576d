"""Chrome traces in the shape of Kineto's, which Perfetto, chrome://tracing, TensorBoard and HolisticTraceAnalysis read.

The file is written row by row, so a trace of any length needs little memory. Times are numbers in microseconds since
``baseTimeNanoseconds``, which keeps them small enough for the doubles of a browser to tell nanoseconds apart.

Calls of the runtime have the names of the functions that were called. Analysers of CUDA programs look for CUDA's:
``TraceNames`` says which are written; where they are not the call's own, ``args["call"]`` has it.
"""

from __future__ import annotations

import gzip
import json
import os
from array import array
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

from .._devices.accelerator import Accelerator
from ._arguments import as_json
from ._collectives import members
from ._device_tracks import DeviceTracks, instant, us
from ._function_event import memory_fields
from ._kinds import EventKind
from ._python_calls import call_name, module_number
from ._rows import EventRow, MemoryRow, accelerator_of, event_rows, index_of, task_rows, traced_accelerator
from ._stacks import stack_of
from ._trace_names import TraceNames

_BASE_INTERVAL_NS = 7_889_238 * 10**9  # a quarter of a year: what Kineto rounds the base time down to

_CATEGORIES: dict[int, str] = {
    EventKind.OPERATOR: "cpu_op", EventKind.VISIT: "cpu_op", EventKind.RUN: "cpu_op",
    EventKind.ANNOTATION: "user_annotation", EventKind.MODULE: "python_function",
    EventKind.PYTHON: "python_function",
}  # fmt: skip
_PYTHON_CALLS = frozenset({EventKind.PYTHON, EventKind.MODULE})
_WITH_NODE = frozenset({EventKind.OPERATOR, EventKind.VISIT, EventKind.RUN})


def write_chrome_trace(
    path: str | os.PathLike[str],
    trace: Any,
    metadata: Mapping[str, Any],
    module_paths: Mapping[str, str],
    names: Callable[[Accelerator], TraceNames],
    thread_names: Mapping[int, str],
) -> None:
    """Writes a native trace; compressed if ``path`` ends in ``.gz``. ``metadata`` joins the top level."""
    name = os.fspath(path)
    opened: IO[str] = (
        gzip.open(name, "wt", encoding="utf-8", compresslevel=5)
        if name.endswith(".gz")
        else open(name, "w", encoding="utf-8")
    )
    with opened as out:
        _write(out, name, metadata, trace, module_paths, names, thread_names)


def _write(
    out: IO[str],
    name: str,
    metadata: Mapping[str, Any],
    trace: Any,
    module_paths: Mapping[str, str],
    names: Callable[[Accelerator], TraceNames],
    thread_names: Mapping[int, str],
) -> None:
    epoch_ns = trace.epoch_offset_ns
    base_ns = (trace.start_ns + epoch_ns) // _BASE_INTERVAL_NS * _BASE_INTERVAL_NS
    accelerator = traced_accelerator(trace)
    properties = [
        accelerator_of(number).trace_properties(number, device) for number, device in trace.devices().items()
    ]
    top: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": properties}
    top |= metadata
    top |= {"displayTimeUnit": "ms", "baseTimeNanoseconds": base_ns}
    out.write("{\n")
    for key, value in top.items():
        out.write(f"  {json.dumps(key)}: {json.dumps(value)},\n")
    out.write('  "traceEvents": [\n')
    separator = ""
    for event in _Writer(trace, base_ns - epoch_ns, module_paths, names(accelerator), thread_names).events():
        out.write(separator + event)
        separator = ",\n"
    out.write(f'\n  ],\n  "traceName": {json.dumps(name)}\n}}\n')


class _Writer:
    """The events as JSON. ``base_ns`` is the steady time that becomes 0."""

    def __init__(
        self,
        trace: Any,
        base_ns: int,
        module_paths: Mapping[str, str],
        names: TraceNames,
        thread_names: Mapping[int, str],
    ) -> None:
        self._trace = trace
        self._thread_names = thread_names
        self._device_types = {-1: '"device_type": "CPU"'}
        for number in trace.devices():
            self._device_types[number] = f'"device_type": "{accelerator_of(number).title}"'
        self._device_names = names
        self._base_ns = base_ns
        self._module_paths = module_paths
        self._pid = os.getpid()
        self._threads: list[tuple[int, int]] = trace.threads()  # (number, system id)
        self._parents = array("q")
        self._calls = array("q")  # the Python call around each event; 0 for none
        self._python_calls = 0
        self._annotations: dict[int, str] = {}
        self._collectives: dict[int, str] = {}
        self._modules: dict[int, str] = {}  # path of the module around, by event; only with modules
        self._forward: dict[int, tuple[int, int]] = {}  # thread and start, by number of the node
        self._quoted: dict[str, str] = {}

    def events(self) -> Iterator[str]:
        trace, base_ns = self._trace, self._base_ns
        yield from self._names(trace.start_ns)
        for index, row in enumerate(event_rows(trace)):
            self._parents.append(row.parent)
            if isinstance(row, MemoryRow):
                self._calls.append(0)
                yield self._memory_event(index, row)
            elif row.kind == EventKind.CALL:
                self._calls.append(0)
                yield self._call(row)
            else:
                yield self._duration_event(index, row)
                if row.number >= 0:
                    yield from self._flow_to_backward(row)
        tracks = DeviceTracks(
            list(task_rows(trace)),
            self._pid,
            [system for _, system in self._threads],
            base_ns,
            self._device_names,
        )
        yield from tracks.events(self._parents, self._annotations, self._collectives)
        start, stop = trace.start_ns - base_ns, trace.stop_ns - base_ns
        yield (
            '{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", '
            f'"tid": "PyTorch Profiler", "ts": {us(start)}, "dur": {us(stop - start)}, '
            '"args": {"Op count": 0}}'
        )
        yield instant("Iteration Start: PyTorch Profiler", "g", "Traces", "Trace PyTorch Profiler", start)
        yield instant("Record Window End", "g", "", "", stop)

    def _names(self, start_ns: int) -> Iterator[str]:
        pid, time = self._pid, us(start_ns - self._base_ns)

        def entry(name: str, tid: int, key: str, value: Any) -> str:
            fields = {"name": name, "ph": "M", "pid": pid, "tid": tid, "args": {key: value}}
            return f'{json.dumps(fields)[:-1]}, "ts": {time}}}'

        yield entry("process_name", 0, "name", "python")
        yield entry("process_labels", 0, "labels", "CPU")
        yield entry("process_sort_index", 0, "sort_index", pid)
        for _, tid in self._threads:
            yield entry("thread_name", tid, "name", f"thread {tid} ({self._thread_names.get(tid, 'python')})")
            yield entry("thread_sort_index", tid, "sort_index", tid)

    def _text(self, name: str) -> str:
        """JSON of a name; there are few of them."""
        quoted = self._quoted.get(name)
        if quoted is None:
            quoted = self._quoted[name] = json.dumps(name)
        return quoted

    def _duration(self, category: str, name: str, row: EventRow, args: str) -> str:
        return (
            f'{{"ph": "X", "cat": "{category}", "name": {self._text(name)}, "pid": {self._pid}, '
            f'"tid": {self._threads[row.thread][1]}, "ts": {us(row.start_ns - self._base_ns)}, '
            f'"dur": {us(row.end_ns - row.start_ns)}, "args": {args}}}'
        )

    def _duration_event(self, index: int, row: EventRow) -> str:
        kind, name, parent, number = row.kind, row.name, row.parent, row.number
        if kind in _PYTHON_CALLS:
            name = call_name(name)
            args = [self._call_args(kind, name, parent)]
        else:
            self._calls.append(self._calls[parent] if parent >= 0 else 0)
            args = [f'"External id": {index + 1}, "Record function id": 0']
        if kind == EventKind.ANNOTATION:
            self._annotations[index] = name
        elif number >= 0 and kind in _WITH_NODE:
            thread = 0 if kind == EventKind.OPERATOR else self._forward_thread(number)
            args.append(f'"Sequence number": {number}, "Fwd thread id": {thread}')
        args.append(self._device_types[row.device])
        if row.overload:
            args.append(f'"Overload name": "{row.overload}"')
        if row.details:
            self._collectives[index] = row.details
            args.append(members(row.details, row.end_ns - row.start_ns, kind == EventKind.ANNOTATION))
        if row.inputs is not None:
            args.append(as_json(row.inputs))
        if row.stack:
            args.append(f'"Call stack": {self._text(";".join(reversed(stack_of(row.stack))))}')
        if self._module_paths:
            path = self._module_paths.get(name) if kind == EventKind.MODULE else self._modules.get(parent)
            if path:
                self._modules[index] = path
            if path and kind != EventKind.PYTHON:
                args.append(f'"Module Hierarchy": {self._text(path)}')
        if row.memory_before is not None and kind != EventKind.PYTHON:
            memory = memory_fields(row.device, row.memory_before, row.memory_after)
            args += [f'"{field}": {value}' for field, value in memory.items()]
        args.append(f'"Ev Idx": {index}')
        return self._duration(_CATEGORIES[kind], name, row, "{" + ", ".join(args) + "}")

    def _call_args(self, kind: int, name: str, parent: int) -> str:
        """How calls of Python functions refer to each other."""
        self._python_calls += 1
        around = self._calls[parent] if parent >= 0 else 0
        self._calls.append(self._python_calls)
        args = f'"Python parent id": {around or "null"}, "Python id": {self._python_calls}'
        return f'{args}, "Python module id": {module_number(name)}' if kind == EventKind.MODULE else args

    def _forward_thread(self, number: int) -> int:
        found = self._forward.get(number)
        return self._threads[found[0]][0] if found else 0

    def _flow_to_backward(self, row: EventRow) -> Iterator[str]:
        """Arrows from the operator that made a node to the visit of the node."""
        if row.kind == EventKind.OPERATOR:
            self._forward[row.number] = (row.thread, row.start_ns)  # the innermost that made it comes last
        elif row.kind == EventKind.VISIT and (made := self._forward.get(row.number)) is not None:
            fields = f'"id": {row.number}, "pid": {self._pid}, "cat": "fwdbwd", "name": "fwdbwd"'
            for phase, (at, time) in (("s", made), ("f", (row.thread, row.start_ns))):
                end = ', "bp": "e"' if phase == "f" else ""
                yield (
                    f'{{"ph": "{phase}", {fields}, "tid": {self._threads[at][1]}, '
                    f'"ts": {us(time - self._base_ns)}{end}}}'
                )

    def _call(self, row: EventRow) -> str:
        shown = self._device_names.calls.get(row.name, row.name)
        args = f'"External id": {row.parent + 1}, "cbid": 0, "correlation": {row.number}'
        if shown != row.name:
            args += f', "call": {self._text(row.name)}'
        return self._duration(self._device_names.runtime, shown, row, f"{{{args}}}")

    def _memory_event(self, index: int, row: MemoryRow) -> str:
        kind = accelerator_of(row.device).number if row.device >= 0 else 0
        return (
            f'{{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "{row.name}", "pid": {self._pid}, '
            f'"tid": {self._threads[row.thread][1]}, "ts": {us(row.start_ns - self._base_ns)}, '
            f'"args": {{"Total Reserved": {row.total_reserved}, "Total Allocated": {row.total_allocated}, '
            f'"Bytes": {row.size}, "Addr": {row.address}, "Device Id": {index_of(row.device)}, "Device Type": {kind}, '
            f'"Ev Idx": {index}}}}}'
        )
