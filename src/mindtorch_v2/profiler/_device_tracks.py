"""The part of a Chrome trace that belongs to devices: a process per device, a track per stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._kinds import TaskKind

_CATEGORIES = {
    TaskKind.KERNEL: "kernel", TaskKind.COPY: "gpu_memcpy", TaskKind.HOST_COPY: "gpu_memcpy",
    TaskKind.FILL: "gpu_memset",
}  # fmt: skip
_SORT_LAST = 5_000_000  # after every process of the host


def us(nanoseconds: int) -> str:
    """Microseconds as a JSON number, exactly."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"


def instant(name: str, scope: str, pid: str, tid: str, time_ns: int) -> str:
    fields = {"ph": "i", "s": scope, "name": name, "pid": pid, "tid": tid}
    return f'{json.dumps(fields)[:-1]}, "ts": {us(time_ns)}}}'


class DeviceTracks:
    """Rows of ``Trace.tasks()`` as JSON events, with arrows from the calls that launched them."""

    def __init__(self, tasks: list[tuple[Any, ...]], pid: int, threads: list[int], base_ns: int) -> None:
        self._tasks = [task for task in tasks if task[11]]  # those whose times are known
        self._pid = pid
        self._threads = threads
        self._base_ns = base_ns

    def events(self, parents: Sequence[int], annotations: Mapping[int, str]) -> Iterator[str]:
        """``parents`` and ``annotations`` are of the host's events, by id."""
        yield from self._names()
        last_end: dict[tuple[int, int], int] = {}
        for task in self._tasks:
            kind, device, stream, end_ns = TaskKind(task[0]), task[3], task[4], task[12]
            if kind in _CATEGORIES:
                yield from self._work(task, _CATEGORIES[kind])
                last_end[device, stream] = max(last_end.get((device, stream), 0), end_ns)
            else:
                yield from self._wait(task, kind, last_end)
        yield from self._annotations(parents, annotations)

    def _names(self) -> Iterator[str]:
        streams = sorted({(task[3], task[4]) for task in self._tasks if task[4] >= 0})
        for device in sorted({device for device, _ in streams}):
            yield self._name("process_name", device, 0, "name", "python")
            yield self._name("process_labels", device, 0, "labels", f"NPU {device}")
            yield self._name("process_sort_index", device, 0, "sort_index", _SORT_LAST + device)
        for device, stream in streams:
            text = f"stream {stream} (default)" if stream == 1 else f"stream {stream}"
            yield self._name("thread_name", device, stream, "name", text)
            yield self._name("thread_sort_index", device, stream, "sort_index", stream)

    def _name(self, name: str, device: int, stream: int, key: str, value: Any) -> str:
        fields = {"name": name, "ph": "M", "ts": 0, "pid": device, "tid": stream, "args": {key: value}}
        return json.dumps(fields)

    def _event(
        self, category: str, name: str, device: int, stream: int, start_ns: int, end_ns: int, args: str
    ) -> str:
        return (
            f'{{"ph": "X", "cat": "{category}", "name": {json.dumps(name)}, "pid": {device}, "tid": {stream}, '
            f'"ts": {us(start_ns - self._base_ns)}, "dur": {us(end_ns - start_ns)}, "args": {{{args}}}}}'
        )

    def _work(self, task: tuple[Any, ...], category: str) -> Iterator[str]:
        _, _, name, device, stream, size, correlation, _, thread, launcher, launch_ns, start_ns, end_ns = task
        args = (
            f'"External id": {launcher + 1}, "queued": 0, "device": {device}, "context": 1, '
            f'"stream": {stream}, "correlation": {correlation}, "device_type": "NPU"'
        )
        if category != "kernel":
            bandwidth = size / max(end_ns - start_ns, 1)
            args += f', "bytes": {size}, "memory bandwidth (GB/s)": {bandwidth:.6g}'
        yield self._event(category, name, device, stream, start_ns, end_ns, args)
        fields = f'"id": {correlation}, "cat": "ac2g", "name": "ac2g"'
        yield (
            f'{{"ph": "s", {fields}, "pid": {self._pid}, "tid": {self._threads[thread]}, '
            f'"ts": {us(launch_ns - self._base_ns)}}}'
        )
        yield (
            f'{{"ph": "f", {fields}, "pid": {device}, "tid": {stream}, '
            f'"ts": {us(start_ns - self._base_ns)}, "bp": "e"}}'
        )

    def _wait(
        self, task: tuple[Any, ...], kind: TaskKind, last_end: Mapping[tuple[int, int], int]
    ) -> Iterator[str]:
        """Waits of a stream and of the host. Those for an event that was recorded earlier than this trace have
        nothing to point to, and are left to the host's track."""
        _, _, name, device, stream, _, correlation, awaited, _, _, _, start_ns, end_ns = task
        if kind is TaskKind.STREAM_SYNC:
            # On the stream's track it is the moment when the stream is idle; the call has the whole wait. Two
            # nanoseconds later, because readers add doubles that are half a nanosecond off.
            start_ns = max(start_ns, last_end.get((device, stream), 0) + 2)
            end_ns = start_ns + 1
        args = (
            f'"cuda_sync_kind": "{name}", "stream": {stream}, "correlation": {correlation}, '
            f'"device": {device}, "context": 1'
        )
        if kind in (TaskKind.STREAM_WAIT, TaskKind.EVENT_SYNC):
            if awaited < 0:
                return
            args += f', "wait_on_cuda_event_record_corr_id": {awaited}'
        yield self._event("cuda_sync", name, device, stream, start_ns, end_ns, args)

    def _annotations(self, parents: Sequence[int], annotations: Mapping[int, str]) -> Iterator[str]:
        """Where on each stream the tasks of an annotation lie."""
        spans: dict[tuple[int, int, int], tuple[int, int]] = {}
        for task in self._tasks:
            if TaskKind(task[0]) not in _CATEGORIES:
                continue
            device, stream, around, start_ns, end_ns = task[3], task[4], task[9], task[11], task[12]
            while around >= 0:
                if around in annotations:
                    first, last = spans.get((around, device, stream), (start_ns, end_ns))
                    spans[around, device, stream] = (min(first, start_ns), max(last, end_ns))
                around = parents[around]
        for (index, device, stream), (first, last) in spans.items():
            # Without a stream among the arguments, which would make it a task for analysers.
            args = f'"External id": {index + 1}'
            # A nanosecond more on both sides, so that viewers nest the tasks inside.
            yield self._event(
                "gpu_user_annotation", annotations[index], device, stream, first - 1, last + 1, args
            )
