"""Snapshots of all makers as one thing: segments, and a history in columns.

Note [Schemas of snapshots]
All have PyTorch's schema, with differences that end here:

* this package: segments, history, settings; releases of segments know who asked for them.
* PyTorch: stacks may have C++ frames (``??``, addresses); releases know who asked; ``category`` where a compiler wrote
  it; entries before 2.13 have no pool.
* torch_npu: only ``segments`` and ``device_traces``; entries have no time (their number stands for it), no settings,
  and an action of its own (``workspace_snapshot``), which says nothing about blocks.
* ``memory_snapshot()``: the list of segments alone, without history.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy

from ._reading import MEMORY_LIMIT, SnapshotError, plain_data

Progress = Callable[[str, int, int], None]  # what is done, how much of it, of how much


class Frame(NamedTuple):
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}" if self.file else self.function


Stack = tuple[Frame, ...]  # innermost first

# The numbers are those of TraceAction in csrc/runtime/trace.h.
ACTIONS = (
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
    "snapshot", "oom",
)  # fmt: skip
(
    ALLOC,
    FREE_REQUESTED,
    FREE_COMPLETED,
    SEGMENT_ALLOC,
    SEGMENT_FREE,
    SEGMENT_MAP,
    SEGMENT_UNMAP,
    SNAPSHOT,
    OOM,
) = range(9)
_IGNORED = {"workspace_snapshot"}  # of torch_npu


@dataclass
class Block:
    address: int
    size: int
    requested: int
    state: str  # active_allocated, active_pending_free, inactive
    stack: int

    @property
    def is_live(self) -> bool:
        return self.state != "inactive"


@dataclass
class Segment:
    address: int
    size: int
    stream: int
    small: bool
    pool: int
    grows: bool
    blocks: list[Block]


@dataclass
class History:
    """The columns of a device's events, oldest first. For oom, ``address`` is what the device had free."""

    action: Any
    address: Any
    size: Any
    stream: Any
    pool: Any
    time: Any  # microseconds; the event's number where the file has no times
    stack: Any
    category: Any  # an index into Snapshot.categories, -1 for none

    def __len__(self) -> int:
        return len(self.action)


@dataclass
class Device:
    index: int
    segments: list[Segment]
    history: History

    @property
    def reserved(self) -> int:
        return sum(segment.size for segment in self.segments)

    @property
    def allocated(self) -> int:
        return sum(b.size for s in self.segments for b in s.blocks if b.state == "active_allocated")


@dataclass
class Snapshot:
    name: str
    maker: str  # "mindtorch_v2", "PyTorch", "torch_npu"
    devices: list[Device]
    stacks: list[Stack]
    settings: dict[str, Any]
    has_times: bool
    overflowed: bool  # the history's oldest events are lost
    categories: list[str] = field(default_factory=list)
    metadata: dict[int, str] = field(default_factory=dict)  # what the program said, by stack

    def device(self, index: int | None = None) -> Device:
        """One device; without an index, the one with the longest history, then the most memory."""
        if index is None:
            if not self.devices:
                raise SnapshotError(f"{self.name} has no memory of any device in it")
            return max(self.devices, key=lambda found: (len(found.history), found.reserved))
        for device in self.devices:
            if device.index == index:
                return device
        known = ", ".join(str(device.index) for device in self.devices) or "none"
        raise SnapshotError(f"{self.name} has no device {index}; it has {known}")


class _Stacks:
    """Stacks by number: equal ones have one. Lists that the file shares are looked at once."""

    def __init__(self) -> None:
        self.all: list[Stack] = [()]
        self._known: dict[Stack, int] = {(): 0}
        self._seen: dict[int, int] = {}

    def number(self, frames: Any, where: str) -> int:
        if not frames:
            return 0
        found = self._seen.get(id(frames))
        if found is None:
            stack = tuple(_frame(frame, where) for frame in _list(frames, where))
            found = self._known.setdefault(stack, len(self.all))
            if found == len(self.all):
                self.all.append(stack)
            self._seen[id(frames)] = found  # the file's data is alive while it is read, so ids are names
        return found


def _frame(frame: Any, where: str) -> Frame:
    if isinstance(frame, str):
        return Frame("", 0, frame)
    if not isinstance(frame, dict):
        raise SnapshotError(f"a frame in {where} is a {type(frame).__name__}, not a dict")
    file, line, name = frame.get("filename", ""), frame.get("line", 0), frame.get("name", "")
    if not (isinstance(file, str) and isinstance(line, int) and isinstance(name, str)):
        raise SnapshotError(
            f"a frame in {where} has a filename, line or name of another type: {frame!r:.200}"
        )
    return Frame("" if file == "??" else file, line, name)


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise SnapshotError(f"{what} should be a list, but it is a {type(value).__name__}")
    return list(value)


def _dict(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SnapshotError(f"{what} should be a dict, but it is a {type(value).__name__}")
    return value


def _whole(entry: Mapping[str, Any], key: str, where: str, default: int | None = None) -> int:
    value = entry.get(key, default)
    if value is None:
        raise SnapshotError(f"{where} has no '{key}'")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 64:
        raise SnapshotError(
            f"{where}: '{key}' should be a whole number from 0 to 2^64, but it is {value!r:.80}"
        )
    return value


def _pool(entry: Mapping[str, Any], key: str, where: str) -> int:
    value = entry.get(key, (0, 0))
    if not isinstance(value, list | tuple) or len(value) != 2 or not all(isinstance(v, int) for v in value):
        raise SnapshotError(f"{where}: '{key}' should be two numbers, but it is {value!r:.80}")
    first, second = value
    # Captured graphs count in the first, pools in the second; both are told apart from 0, the default.
    return int(second) if not first else (int(first) << 32) + int(second)


def _segment(entry: Any, where: str, stacks: _Stacks) -> tuple[int, Segment]:
    entry = _dict(entry, where)
    blocks, address = [], _whole(entry, "address", where)
    at = address
    for number, raw in enumerate(_list(entry.get("blocks"), f"'blocks' of {where}")):
        inner = f"{where}.blocks[{number}]"
        raw = _dict(raw, inner)
        size = _whole(raw, "size", inner)
        frames = raw.get("frames")
        if frames is None and raw.get("history"):  # before PyTorch 2.1
            frames = _dict(_list(raw["history"], inner)[0], inner).get("frames")
        state = raw.get("state")
        if state not in ("active_allocated", "active_pending_free", "active_awaiting_free", "inactive"):
            raise SnapshotError(f"{inner}: 'state' is {state!r:.80}")
        blocks.append(
            Block(
                at, size, _whole(raw, "requested_size", inner, size),
                "active_pending_free" if state == "active_awaiting_free" else state, stacks.number(frames, inner),
            )
        )  # fmt: skip
        at += size
    total = _whole(entry, "total_size", where)
    if at - address != total:
        raise SnapshotError(f"{where} has {total} bytes, but its blocks have {at - address}")
    return _whole(entry, "device", where, 0), Segment(
        address, total, _whole(entry, "stream", where, 0), entry.get("segment_type") == "small",
        _pool(entry, "segment_pool_id", where), bool(entry.get("is_expandable", False)), blocks,
    )  # fmt: skip


class _Columns:
    def __init__(self) -> None:
        self.rows: list[tuple[int, ...]] = []

    def history(self) -> History:
        table = numpy.array(self.rows, dtype=numpy.int64).reshape(len(self.rows), 8)
        return History(*(numpy.ascontiguousarray(table[:, i]) for i in range(8)))


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


class _Builder:
    def __init__(self, name: str, progress: Progress | None) -> None:
        self.name = name
        self.stacks = _Stacks()
        self.categories: dict[str, int] = {}
        self.metadata: dict[int, str] = {}
        self.has_times = False
        self._progress = progress

    def history(self, entries: list[Any], device: int) -> History:
        columns, rows = _Columns(), 0
        numbers = {name: number for number, name in enumerate(ACTIONS)}
        add, number_of = columns.rows.append, self.stacks.number
        for index, entry in enumerate(entries):
            where = f"device_traces[{device}][{index}]"
            if index % 65536 == 0 and self._progress:
                self._progress("reading history", index, len(entries))
            entry = _dict(entry, where)
            name = entry.get("action")
            action = numbers.get(name) if isinstance(name, str) else None
            if action is None:
                if name in _IGNORED:
                    continue
                raise SnapshotError(f"{where}: there is no action {name!r:.80}")
            place = "device_free" if action == OOM else "addr"
            time = entry.get("time_us")
            if time is not None:
                self.has_times = True
            stack = number_of(entry.get("frames"), where)
            if said := entry.get("user_metadata"):
                self.metadata[stack] = str(said)
            category = entry.get("category")
            add(
                (
                    action, _signed(_whole(entry, place, where, 0 if action in (OOM, SNAPSHOT) else None)),
                    _signed(_whole(entry, "size", where)), _signed(_whole(entry, "stream", where, 0)),
                    _pool(entry, "pool_id", where), rows if time is None else _whole(entry, "time_us", where), stack,
                    self.categories.setdefault(category, len(self.categories)) if isinstance(category, str) else -1,
                )
            )  # fmt: skip
            rows += 1
        return columns.history()


def _maker(data: Mapping[str, Any], has_times: bool) -> str:
    settings = data.get("allocator_settings")
    if (
        isinstance(settings, dict)
        and "per_process_memory_fraction" in settings
        and "large_segment_size" in settings
    ):
        if any(key.startswith("throw_on_") and key.endswith("malloc_oom") for key in settings):
            return "mindtorch_v2"
    return "PyTorch" if isinstance(settings, dict) or has_times else "torch_npu"


def from_data(data: Any, name: str = "the snapshot", progress: Progress | None = None) -> Snapshot:
    """A snapshot from what ``_snapshot()`` or ``memory_snapshot()`` returned."""
    if isinstance(data, list):
        data = {"segments": data}
    data = _dict(data, name)
    if "segments" not in data:
        keys = ", ".join(map(repr, list(data)[:5]))
        raise SnapshotError(f"{name} is no snapshot: it has no 'segments' (its keys: {keys})")
    builder = _Builder(name, progress)
    by_device: dict[int, list[Segment]] = {}
    for number, entry in enumerate(_list(data["segments"], "'segments'")):
        device, segment = _segment(entry, f"segments[{number}]", builder.stacks)
        by_device.setdefault(device, []).append(segment)
    traces = data.get("device_traces")
    if traces is None and "trace" in data:  # memory_snapshot() of this package: one device
        traces = [[]] * int(data.get("device", 0)) + [data["trace"]]
        data = {**data, "allocator_settings": data.get("settings")}
    traces = _list(traces if traces is not None else [], "'device_traces'")
    histories = {
        index: builder.history(_list(trace, f"device_traces[{index}]"), index)
        for index, trace in enumerate(traces)
    }
    empty = _Columns().history()
    used = sorted(by_device.keys() | {index for index, history in histories.items() if len(history)})
    settings = data.get("allocator_settings")
    settings = _dict(settings if settings is not None else {}, "'allocator_settings'")
    return Snapshot(
        name, _maker(data, builder.has_times),
        [
            Device(
                index, sorted(by_device.get(index, []), key=lambda segment: segment.address),
                histories.get(index, empty),
            )
            for index in used
        ],
        builder.stacks.all, settings, builder.has_times, bool(settings.get("trace_alloc_overflowed", False)),
        list(builder.categories), builder.metadata,
    )  # fmt: skip


def read(
    path: str | os.PathLike[str], memory_limit: int = MEMORY_LIMIT, progress: Progress | None = None
) -> Snapshot:
    """A snapshot from a file of this package, of PyTorch (CUDA) or of torch_npu: pickle or JSON."""
    return from_data(plain_data(path, memory_limit), os.fspath(path), progress)


def place_of(stack: Iterable[Frame]) -> str:
    """The line that a reader of a stack looks for: the innermost one of the program's own files."""
    first = ""
    for frame in stack:
        if not frame.file or frame.file.startswith("<"):
            continue
        if not first:
            first = str(frame)
        if not _is_library(frame.file):
            return str(frame)
    return first or next((frame.function for frame in stack), "no stack was recorded")


def _is_library(file: str) -> bool:
    parts = file.replace("\\", "/").split("/")
    return bool(
        {"site-packages", "dist-packages", "torch", "mindtorch_v2", "torch_npu"} & set(parts[:-1])
    ) or (file.endswith((".cpp", ".h", ".cu", ".cc")))
