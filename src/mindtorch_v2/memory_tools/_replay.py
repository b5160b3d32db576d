"""What the same program would have needed under other settings, or on a smaller card."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from .._C import _allocator
from .._C import _memory_tools as _native
from . import _history, _model
from ._reading import SnapshotError

_CHUNK = 1 << 16  # steps between two looks at the progress
_RECORDED = "as recorded"
_GRANULE = 20 << 20


def size_of(text: str | int) -> int:
    """ "40GiB", "512 MB", "1.5g" or a number of bytes."""
    if isinstance(text, int) and not isinstance(text, bool):
        if text <= 0:
            raise ValueError(f"a capacity is a positive number of bytes, but got {text}")
        return text
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b?)\s*", str(text), re.IGNORECASE)
    if found is None or (found[3].lower() == "i"):
        raise ValueError(f"expected a size such as 40GiB or 512MiB, but got {text!r}")
    step = 1000 if found[3].lower() == "b" and found[2] else 1024
    bytes_ = int(float(found[1]) * step ** " kmgt".index(found[2].lower() or " "))
    if bytes_ <= 0:
        raise ValueError(f"a capacity is more than 0 bytes, but got {text!r}")
    return bytes_


def text_of(bytes_: float) -> str:
    """20.0 MiB."""
    value, unit = float(bytes_), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.0f} B" if unit == "B" else f"{value:.2f} {unit}"


def recorded_conf(settings: Mapping[str, Any]) -> str:
    """The settings that a snapshot was recorded under, as a text of the environment variable."""
    items = []
    mebi = 1 << 20

    def add(key: str, name: str, form: Any, default: Any) -> None:
        value = settings.get(key, default)
        if value != default:
            items.append(f"{name}:{form(value)}")

    add("max_split_size", "max_split_size_mb", lambda v: v // mebi, -1)
    add("max_non_split_rounding", "max_non_split_rounding_mb", lambda v: v // mebi, 20 * mebi)
    add("large_segment_size", "large_segment_size_mb", lambda v: v // mebi, 20 * mebi)
    add("garbage_collection_threshold", "garbage_collection_threshold", repr, 0.0)
    add("per_process_memory_fraction", "per_process_memory_fraction", repr, 1.0)
    add("expandable_segments", "expandable_segments", bool, False)
    add("multi_stream_lazy_reclaim", "multi_stream_lazy_reclaim", bool, False)
    divisions = settings.get("roundup_power2_divisions")
    if isinstance(divisions, Mapping) and any(divisions.values()):
        items.append(f"roundup_power2_divisions:[{','.join(f'{k}:{v}' for k, v in _by_size(divisions))}]")
    return ",".join(items)


def _by_size(divisions: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(divisions.items(), key=lambda item: int(item[0]))


def _parsed(conf: str) -> Any:
    found = _allocator.parse_alloc_conf(conf, f"the settings '{conf}'")
    if found.unknown:
        known = ", ".join(_allocator.alloc_conf_keys())
        raise ValueError(f"the settings '{conf}': unknown key {found.unknown[0]!r}. Known keys: {known}.")
    return found


@dataclass
class Outcome:
    """What one replay gave."""

    conf: str
    capacity: int | None  # None: the device did what it did then, or had no limit
    as_recorded: bool
    peak_allocated: int
    peak_reserved: int
    fragmentation: float  # the part of the reserved memory that no tensor used, when most was reserved
    peak_segments: int
    device_allocations: int
    device_frees: int
    synchronizations: int
    retries: int
    collections: int
    out_of_memory: int | None  # the event that failed
    failure: str  # what the error said
    reached: int  # requests that failed when recorded and would not have
    peak_event: int | None
    trace: Any = (
        None  # rows of (action, address, size, stream, pool), where the recorded settings were replayed
    )
    reserved: Any = field(default=None, repr=False)  # after each step
    allocated: Any = field(default=None, repr=False)
    steps: Any = field(default=None, repr=False)

    @property
    def fits(self) -> bool:
        return self.out_of_memory is None

    @property
    def title(self) -> str:
        return _RECORDED if self.as_recorded else self.conf or "default settings"


def _room(snapshot: _model.Snapshot, device: _model.Device, steps: _history.Steps, as_recorded: bool) -> int:
    """The device's memory where none is given: that of the recorded one, if the file says it, else more than is asked
    for at once. Addresses are reserved for all of it, and must not meet those of the next range."""
    total = snapshot.settings.get("device_total")
    if as_recorded:
        return total if isinstance(total, int) and total > 0 else max(_peak_reserved(device), _GRANULE)
    return max(64 << 30, 4 * _peak_reserved(device), 4 * int(steps.rows[:, 2].max(initial=0)))


def _peak_reserved(device: _model.Device) -> int:
    """By the recorded events, which are read backwards from what is reserved at the end."""
    sign = numpy.zeros(len(_model.ACTIONS), dtype=numpy.int64)
    sign[[_model.SEGMENT_ALLOC, _model.SEGMENT_MAP]] = 1
    sign[[_model.SEGMENT_FREE, _model.SEGMENT_UNMAP]] = -1
    change = sign[device.history.action] * device.history.size
    return int((device.reserved - change[::-1].cumsum() + change[::-1]).max(initial=device.reserved))


def _outcome(
    device: _model.Device,
    snapshot: _model.Snapshot,
    conf: str,
    capacity: int | None,
    as_recorded: bool,
    progress: _model.Progress | None,
) -> Outcome:
    settings = _parsed(conf)
    steps = _history.steps_of(
        device, snapshot.stacks, as_recorded, lambda size: _native.block_size(settings, max(size, 1))
    )
    if not len(device.history):
        raise SnapshotError(
            f"{snapshot.name} has no history for device {device.index}: call _record_memory_history() before the work"
        )
    room = capacity if capacity is not None else _room(snapshot, device, steps, as_recorded)
    native = _native.Replay(settings, room, steps.rows)
    if as_recorded:
        native.repeat_device(steps.grants, steps.returns)
        native.record_from(steps.first)
    else:
        native.record_from(-1)
    _run(native, len(steps.rows), _RECORDED if as_recorded else conf or "default settings", progress)
    counts = native.counts()
    reserved = counts["peak_reserved"]
    failed = counts["failed_step"]
    peak_step = counts["peak_reserved_step"]
    return Outcome(
        conf, capacity, as_recorded, counts["peak_allocated"], reserved,
        1 - counts["allocated_at_peak_reserved"] / reserved if reserved else 0.0, counts["peak_segments"],
        counts["device_allocations"], counts["device_frees"], counts["synchronizations"], counts["retries"],
        counts["collections"], int(steps.event[failed]) if failed >= 0 else None, counts["failure"], counts["reached"],
        int(steps.event[peak_step]) if peak_step >= 0 else None,
        numpy.frombuffer(native.trace(), dtype=numpy.int64).reshape(-1, 5) if as_recorded else None,
        numpy.frombuffer(native.reserved(), dtype=numpy.int64), numpy.frombuffer(native.allocated(), dtype=numpy.int64),
        steps,
    )  # fmt: skip


def _run(native: Any, total: int, title: str, progress: _model.Progress | None) -> None:
    at, goes_on = 0, True
    while at < total and goes_on:
        at = min(at + _CHUNK, total)
        goes_on = native.run(at)
        if progress:
            progress(f"replaying {title}", at, total)


def needs_of(
    requests: Any, conf: str = "", capacity: int | None = None, progress: _model.Progress | None = None
) -> dict[str, Any]:
    """What the allocator needs for requests, rows of (whether it is freed, a number for the block, bytes), in one
    stream: what ``_native.Replay.counts`` has."""
    rows = numpy.zeros((len(requests), 6), dtype=numpy.int64)
    rows[:, 0] = numpy.where(requests[:, 0] == 0, _history.ALLOCATE, _history.FREE)
    rows[:, 1:3] = requests[:, 1:3]
    room = capacity if capacity is not None else max(64 << 30, 4 * int(rows[:, 2].sum()))
    native = _native.Replay(_parsed(conf), room, rows)
    native.record_from(-1)
    _run(native, len(rows), conf or "default settings", progress)
    return dict(native.counts())


def replay(
    snapshot: _model.Snapshot,
    conf: str | None = None,
    capacity: int | str | None = None,
    device: int | None = None,
    progress: _model.Progress | None = None,
) -> Outcome:
    """Repeats a snapshot's history on the allocator. Without ``conf``, under the recorded settings; then, and without
    a capacity, the device does what it did. With ``conf``, a text such as "expandable_segments:True", and a capacity
    ("40GiB"; none: no limit) it is what would have been."""
    chosen = snapshot.device(device)
    as_recorded = conf is None and capacity is None
    text = recorded_conf(snapshot.settings) if conf is None else conf
    return _outcome(
        chosen, snapshot, text, None if capacity is None else size_of(capacity), as_recorded, progress
    )


def recorded_trace(device: _model.Device) -> Any:
    """The recorded events in the form of ``Outcome.trace``."""
    history = device.history
    rows = numpy.stack([history.action, history.address, history.size, history.stream, history.pool], axis=1)
    return rows[history.action != _model.SNAPSHOT]


def differences(snapshot: _model.Snapshot, outcome: Outcome, device: int | None = None) -> list[str]:
    """Where a replay under the recorded settings differs from what was recorded, a line each; the first ten."""
    recorded = recorded_trace(snapshot.device(device))
    replayed = outcome.trace[outcome.trace[:, 0] != _model.SNAPSHOT]
    lines = []
    # What the device had free when it refused is the device's, not the allocator's.
    recorded, replayed = recorded.copy(), replayed.copy()
    for table in (recorded, replayed):
        table[table[:, 0] == _model.OOM, 1] = 0
    common = min(len(recorded), len(replayed))
    for index in numpy.flatnonzero((recorded[:common] != replayed[:common]).any(axis=1))[:10]:
        lines.append(f"event {index}: recorded {_shown(recorded[index])}, replayed {_shown(replayed[index])}")
    if len(recorded) != len(replayed):
        lines.append(f"{len(recorded)} events were recorded, {len(replayed)} replayed")
    return lines


def _shown(row: Sequence[int]) -> str:
    return f"{_model.ACTIONS[int(row[0])]} of {int(row[2])} bytes at {int(row[1]):#x}"


def table(outcomes: Sequence[Outcome], snapshot: _model.Snapshot, device: int | None = None) -> str:
    """Outcomes side by side, as text."""
    chosen = snapshot.device(device)
    head = ["settings", "capacity", "peak reserved", "peak allocated", "unused at peak", "segments", "device calls",
            "collections", "retries", "out of memory"]  # fmt: skip
    rows = [head]
    for outcome in outcomes:
        at = outcome.out_of_memory
        where = "no"
        if at is not None:
            stack = snapshot.stacks[int(chosen.history.stack[at])] if at >= 0 else ()
            where = (
                f"at event {at}: {_model.place_of(stack)}" if at >= 0 else "before the history's first event"
            )
        elif outcome.reached:
            where = f"no ({outcome.reached} that failed then)"
        rows.append(
            [
                outcome.title, "no limit" if outcome.capacity is None else text_of(outcome.capacity),
                text_of(outcome.peak_reserved), text_of(outcome.peak_allocated), f"{outcome.fragmentation:.1%}",
                str(outcome.peak_segments), str(outcome.device_allocations + outcome.device_frees),
                str(outcome.collections), str(outcome.retries), where,
            ]
        )  # fmt: skip
    widths = [max(len(row[i]) for row in rows) for i in range(len(head) - 1)]
    return "\n".join(
        "  ".join([*(row[i].ljust(widths[i]) for i in range(len(widths))), row[-1]]) for row in rows
    )
