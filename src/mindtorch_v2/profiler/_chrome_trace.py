"""Chrome traces in the shape of Kineto's, which Perfetto, chrome://tracing and TensorBoard read.

The file is written row by row, so a trace of any length needs little memory. Times are numbers in
microseconds since ``baseTimeNanoseconds``, which keeps them small enough for the doubles of a browser to tell
nanoseconds apart.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping
from typing import IO, Any

from ._events import ANNOTATION, MEMORY, DeviceType, memory_fields, native_rows

_BASE_INTERVAL_NS = 7_889_238 * 10**9  # a quarter of a year: what Kineto rounds the base time down to

# The C++ names that PyTorch's traces have in "Input type".
_TYPE_NAMES = {
    "uint8": "unsigned char", "uint16": "unsigned short int", "uint32": "unsigned int",
    "uint64": "unsigned long int", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
    "float64": "double", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def write_chrome_trace(path: str | os.PathLike[str], trace: Any, metadata: Mapping[str, Any]) -> None:
    """Writes a native trace; compressed if ``path`` ends in ``.gz``. ``metadata`` joins the top level."""
    name = os.fspath(path)
    opened: IO[str] = (
        gzip.open(name, "wt", encoding="utf-8", compresslevel=5)
        if name.endswith(".gz")
        else open(name, "w", encoding="utf-8")
    )
    with opened as out:
        _write(out, name, trace, metadata)


def _write(out: IO[str], name: str, trace: Any, metadata: Mapping[str, Any]) -> None:
    epoch_ns = trace.epoch_offset_ns
    base_ns = (trace.start_ns + epoch_ns) // _BASE_INTERVAL_NS * _BASE_INTERVAL_NS
    top: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": _device_properties(trace.npus())}
    for flag in ("record_shapes", "profile_memory"):
        if getattr(trace, flag):
            top[flag] = 1
    top |= metadata
    top |= {"displayTimeUnit": "ms", "baseTimeNanoseconds": base_ns}
    out.write("{\n")
    for key, value in top.items():
        out.write(f"  {json.dumps(key)}: {json.dumps(value)},\n")
    out.write('  "traceEvents": [\n')
    separator = ""
    for event in _trace_events(trace, base_ns - epoch_ns):
        out.write(separator + event)
        separator = ",\n"
    out.write(f'\n  ],\n  "traceName": {json.dumps(name)}\n}}\n')


def _device_properties(npus: list[int]) -> list[dict[str, Any]]:
    if not npus:
        return []
    from .. import npu

    result = []
    for index in npus:
        found = npu.get_device_properties(index)
        result.append({"id": index, "name": found.name, "totalGlobalMem": found.total_memory})
    return result


def _us(nanoseconds: int) -> str:
    """Microseconds as a JSON number, exactly."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"


def _trace_events(trace: Any, base_ns: int) -> Iterator[str]:
    """The events as JSON. ``base_ns`` is the steady time that becomes 0."""
    pid = os.getpid()
    threads = [system_id for _, system_id in trace.threads()]
    yield from _names(pid, threads, trace.start_ns - base_ns)
    for index, row in enumerate(native_rows(trace)):
        write = _memory_event if row[0] == MEMORY else _duration_event
        yield write(index, row, pid, threads[row[3]], base_ns)
    start, stop = trace.start_ns - base_ns, trace.stop_ns - base_ns
    yield (
        '{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", '
        f'"tid": "PyTorch Profiler", "ts": {_us(start)}, "dur": {_us(stop - start)}, '
        '"args": {"Op count": 0}}'
    )
    yield _instant("Iteration Start: PyTorch Profiler", "g", "Traces", "Trace PyTorch Profiler", start)
    yield _instant("Record Window End", "g", "", "", stop)


def _names(pid: int, threads: list[int], start_ns: int) -> Iterator[str]:
    def entry(name: str, tid: int, key: str, value: Any) -> str:
        fields = {"name": name, "ph": "M", "pid": pid, "tid": tid, "args": {key: value}}
        return f'{json.dumps(fields)[:-1]}, "ts": {_us(start_ns)}}}'

    yield entry("process_name", 0, "name", "python")
    yield entry("process_labels", 0, "labels", "CPU")
    yield entry("process_sort_index", 0, "sort_index", pid)
    for tid in threads:
        yield entry("thread_name", tid, "name", f"thread {tid} (python)")
        yield entry("thread_sort_index", tid, "sort_index", tid)


def _instant(name: str, scope: str, pid: str, tid: str, time_ns: int) -> str:
    fields = {"ph": "i", "s": scope, "name": name, "pid": pid, "tid": tid}
    return f'{json.dumps(fields)[:-1]}, "ts": {_us(time_ns)}}}'


def _duration_event(index: int, row: tuple[Any, ...], pid: int, tid: int, base_ns: int) -> str:
    kind, name, overload, _, start_ns, end_ns, _, _, npu, (before, after, inputs) = row
    args: dict[str, Any] = {"External id": index + 1, "Record function id": 0, "Ev Idx": index}
    args["device_type"] = "NPU" if npu >= 0 else "CPU"
    if overload:
        args["Overload name"] = overload
    if inputs is not None:
        known: list[tuple[str, list[int], list[int]]] = [given or ("", [], []) for given in inputs]
        args["Input Dims"] = [shape for _, shape, _ in known]
        args["Input Strides"] = [strides for _, _, strides in known]
        args["Input type"] = [_TYPE_NAMES.get(dtype, dtype) for dtype, _, _ in known]
    args |= memory_fields(before, after)
    category = "user_annotation" if kind == ANNOTATION else "cpu_op"
    return (
        f'{{"ph": "X", "cat": "{category}", "name": {json.dumps(name)}, "pid": {pid}, "tid": {tid}, '
        f'"ts": {_us(start_ns - base_ns)}, "dur": {_us(end_ns - start_ns)}, "args": {json.dumps(args)}}}'
    )


def _memory_event(index: int, row: tuple[Any, ...], pid: int, tid: int, base_ns: int) -> str:
    npu, (size, allocated, reserved, address) = row[8], row[9]
    args = {
        "Total Reserved": reserved,
        "Total Allocated": allocated,
        "Bytes": size,
        "Addr": address,
        "Device Id": npu,
        "Device Type": int(DeviceType.NPU),
        "Ev Idx": index,
    }
    return (
        f'{{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": {pid}, "tid": {tid}, '
        f'"ts": {_us(row[4] - base_ns)}, "args": {json.dumps(args)}}}'
    )
