"""The part of a Chrome trace that belongs to devices: a process per device, a track per stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._collectives import members
from ._kinds import TaskKind
from ._rows import TaskRow, accelerator_of, index_of
from ._trace_names import TraceNames

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
    """Tasks as JSON events, with arrows from the calls that launched them."""

    def __init__(
        self,
        tasks: Sequence[TaskRow],
        pid: int,
        threads: list[int],
        base_ns: int,
        names: TraceNames,
    ) -> None:
        self._titles = {task.device: accelerator_of(task.device).title for task in tasks}
        self._tasks = tasks
        self._device_names = names
        self._pid = pid
        self._threads = threads
        self._base_ns = base_ns

    def events(
        self, parents: Sequence[int], annotations: Mapping[int, str], collectives: Mapping[int, str]
    ) -> Iterator[str]:
        """``parents``, ``annotations`` and ``collectives`` are of the host's events, by id."""
        yield from self._names()
        last_end: dict[tuple[int, int], int] = {}
        for task in self._tasks:
            if task.kind in _CATEGORIES:
                yield from self._work(task, _CATEGORIES[task.kind], collectives.get(task.launcher, ""))
                track = task.device, task.stream
                last_end[track] = max(last_end.get(track, 0), task.end_ns)
            elif self._device_names.sync:
                yield from self._wait(task, last_end)
        yield from self._annotations(parents, annotations)

    def _names(self) -> Iterator[str]:
        streams = sorted({(task.device, task.stream) for task in self._tasks if task.stream >= 0})
        for device in sorted({device for device, _ in streams}):
            yield self._name("process_name", device, 0, "name", "python")
            yield self._name(
                "process_labels", device, 0, "labels", f"{self._titles[device]} {index_of(device)}"
            )
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

    def _work(self, task: TaskRow, category: str, collective: str) -> Iterator[str]:
        device, stream = task.device, task.stream
        args = (
            f'"External id": {task.launcher + 1}, "queued": 0, "device": {index_of(device)}, "context": 1, '
            f'"stream": {stream}, "correlation": {task.correlation}, "device_type": "{self._titles[device]}"'
        )
        if category != "kernel":
            bandwidth = task.size / max(task.end_ns - task.start_ns, 1)
            args += f', "bytes": {task.size}, "memory bandwidth (GB/s)": {bandwidth:.6g}'
        if task.details:
            args += f", {task.details}"
        if collective:
            args += f", {members(collective, task.end_ns - task.start_ns, True)}"
        name = self._device_names.tasks.get(task.name, task.name)
        if name != task.name:
            args += f', "task": {json.dumps(task.name)}'
        yield self._event(category, name, device, stream, task.start_ns, task.end_ns, args)
        if task.thread < 0:
            return  # who launched it is not known
        fields = f'"id": {task.correlation}, "cat": "ac2g", "name": "ac2g"'
        yield (
            f'{{"ph": "s", {fields}, "pid": {self._pid}, "tid": {self._threads[task.thread]}, '
            f'"ts": {us(task.launch_ns - self._base_ns)}}}'
        )
        yield (
            f'{{"ph": "f", {fields}, "pid": {device}, "tid": {stream}, '
            f'"ts": {us(task.start_ns - self._base_ns)}, "bp": "e"}}'
        )

    def _wait(self, task: TaskRow, last_end: Mapping[tuple[int, int], int]) -> Iterator[str]:
        """Waits of a stream and of the host. Those for an event that was recorded earlier than this trace have
        nothing to point to, and are left to the host's track."""
        device, stream, start_ns, end_ns = task.device, task.stream, task.start_ns, task.end_ns
        if task.kind is TaskKind.STREAM_SYNC:
            # On the stream's track it is the moment when the stream is idle; the call has the whole wait. Two
            # nanoseconds later, because readers add doubles that are half a nanosecond off.
            start_ns = max(start_ns, last_end.get((device, stream), 0) + 2)
            end_ns = start_ns + 1
        args = (
            f'"{self._device_names.sync_kind}": "{task.name}", "stream": {stream}, "correlation": {task.correlation}, '
            f'"device": {index_of(device)}, "context": 1'
        )
        if task.kind in (TaskKind.STREAM_WAIT, TaskKind.EVENT_SYNC):
            if task.awaited < 0:
                return
            args += f', "{self._device_names.awaited}": {task.awaited}'
        yield self._event(self._device_names.sync, task.name, device, stream, start_ns, end_ns, args)

    def _annotations(self, parents: Sequence[int], annotations: Mapping[int, str]) -> Iterator[str]:
        """Where on each stream the tasks of an annotation lie."""
        spans: dict[tuple[int, int, int], tuple[int, int]] = {}
        for task in self._tasks:
            if task.kind not in _CATEGORIES:
                continue
            around = task.launcher
            while around >= 0:
                if around in annotations:
                    place = around, task.device, task.stream
                    first, last = spans.get(place, (task.start_ns, task.end_ns))
                    spans[place] = (min(first, task.start_ns), max(last, task.end_ns))
                around = parents[around]
        for (index, device, stream), (first, last) in spans.items():
            # Without a stream among the arguments, which would make it a task for analysers.
            args = f'"External id": {index + 1}'
            # A nanosecond more on both sides, so that viewers nest the tasks inside.
            yield self._event(
                "gpu_user_annotation", annotations[index], device, stream, first - 1, last + 1, args
            )
