"""What a group did last, as PyTorch's flight recorder has it.

Note [Flight recorder]
Every collective and message is an entry of its group's ring (``csrc/distributed/flight_ring.h``): what it is, and when
the program asked for it, when it began, when it was done. ``TORCH_FR_BUFFER_SIZE`` is the number of entries a group
keeps, 0 none; with ``TORCH_FR_PYTHON_STACK=1`` they have the Python stack. When a work fails, this process and all
others that still answer write their entries to ``TORCH_FR_DUMP_TEMP_FILE`` followed by their rank, in the form of
PyTorch's files. The names that PyTorch had for these variables before mean the same.
Of works on streams nobody waits for the end, so the next work of the same stream looks which of them are done.
"""

from __future__ import annotations

import json
import os
import pickle
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..._C import _DeviceGraph, _distributed, _profiler
from .._described import dtype_name, event_name

VERSION = "2.10"  # of the form of the files
_SIZE = 2000


def setting(name: str, default: str) -> str:
    """A variable of the environment, under PyTorch's name of today (``TORCH_FR_…``) or of before."""
    older = {"BUFFER_SIZE": "TRACE_BUFFER_SIZE", "DUMP_TEMP_FILE": "DEBUG_INFO_TEMP_FILE"}.get(name, name)
    return os.environ.get(f"TORCH_FR_{name}", os.environ.get(f"TORCH_NCCL_{older}", default))


def _size() -> int:
    text = setting("BUFFER_SIZE", str(_SIZE))
    if not text.isdecimal():
        raise ValueError(f"TORCH_FR_BUFFER_SIZE must be a number of entries, 0 for none, got {text!r}")
    return int(text)


class Position(NamedTuple):
    """How far a group is in a process: numbers of collectives."""

    created: int
    started: int
    ended: int
    name: str  # of the last that was created


class Flight:
    """The entries of one group."""

    def __init__(self, name: str, description: str, ranks: Sequence[int], seconds: float) -> None:
        self.name, self.description, self.ranks = name, description, tuple(ranks)
        self._milliseconds = round(seconds * 1000)
        self._capacity, self.stacks = _size(), setting("PYTHON_STACK", "0") == "1"
        self._ring = _distributed._FlightRing(self._capacity)
        self._waiting: dict[Any, deque[tuple[int, Any]]] = {}  # works on streams, by stream
        # Every work calls these, so nothing stands between.
        self.add, self.start, self.end = self._ring.add, self._ring.start, self._ring.end
        self.clear = self._ring.clear

    def follow(self, number: int, lane: Any, mark: Any) -> None:
        """It is done when the mark on its stream is passed. In a capture it is not done at all."""
        if _DeviceGraph.any_is_captured():
            return
        waiting = self._waiting.get(lane)
        if waiting is None:
            waiting = self._waiting[lane] = deque(maxlen=max(1, self._capacity))
        waiting.append((number, mark))
        self._look(waiting)

    def _look(self, waiting: deque[tuple[int, Any]]) -> None:
        while waiting and _passed(waiting[0][1]):
            self._ring.end(waiting.popleft()[0], False)

    def position(self) -> Position:
        """How far this process is."""
        for waiting in self._waiting.values():
            self._look(waiting)
        return Position(*self._ring.position())

    def close(self) -> None:
        """Nobody waits for its works any more."""
        self._waiting.clear()

    def entries(self, with_stacks: bool) -> list[dict[str, Any]]:
        """The entries as PyTorch's files have them."""
        self.position()
        return [self._entry(row, with_stacks) for row in self._ring.entries()]

    def _entry(self, row: tuple[Any, ...], with_stacks: bool) -> dict[str, Any]:
        number, collectives, messages, is_message, library, name, inputs, outputs, *rest = row
        created, started, ended, failed, stack = rest
        state = "completed" if ended else "started" if started else "scheduled"
        found = {
            "collective_seq_id": collectives,
            "p2p_seq_id": messages,
            "op_id": number,
            "process_group": (self.name, self.description),
            "profiling_name": event_name(library, name),
            "input_sizes": [list(sizes) for sizes, _ in inputs],
            "input_dtypes": [dtype_name(dtype) for _, dtype in inputs],
            "output_sizes": [list(sizes) for sizes, _ in outputs],
            "output_dtypes": [dtype_name(dtype) for _, dtype in outputs],
            "time_created_ns": created,
            "time_discovered_started_ns": started or None,
            "time_discovered_completed_ns": ended or None,
            "state": state,
            "retired": bool(ended or failed),
            "timeout_ms": self._milliseconds,
            "is_p2p": is_message,
        }
        if ended and started:
            found["duration_ms"] = (ended - started) / 1e6
        if with_stacks:
            frames = _profiler.stack(stack) if stack else []
            found["frames"] = [
                {"name": function, "filename": file, "line": line} for file, line, function in frames
            ]
        return found


def _passed(mark: Any) -> bool:
    try:
        return bool(mark.is_complete())
    except RuntimeError:  # the device failed, which whoever reads its results is told
        return False


_flights: dict[str, Flight] = {}  # of this process, by the name of the group


def register(flight: Flight) -> Flight:
    """The group is there."""
    _flights[flight.name] = flight
    return flight


def forget(flight: Flight) -> None:
    """The group is gone."""
    flight.close()
    if _flights.get(flight.name) is flight:
        del _flights[flight.name]


def find(name: str) -> Flight | None:
    """The entries of a group of this process."""
    return _flights.get(name)


def summary(name: str) -> str:
    """How far this process is in a group, in words."""
    flight = find(name)
    if flight is None:
        return ""
    at = flight.position()
    return f"its last collective is {at.name} (number {at.created}), and {at.ended} are done"


def snapshot(
    includeCollectives: bool = True, includeStackTraces: bool = True, onlyActive: bool = False
) -> dict[str, Any]:
    """What all groups of this process did last, as PyTorch's files have it."""
    flights = list(_flights.values())
    found: list[dict[str, Any]] = []
    status = {}
    for number, flight in enumerate(flights):
        at = flight.position()
        status[flight.name] = {
            "last_enqueued_collective": at.created,
            "last_started_collective": at.started,
            "last_completed_collective": at.ended,
        }
        if includeCollectives:
            found += [{"pg_id": number, **entry} for entry in flight.entries(includeStackTraces)]
    found = [entry for entry in found if not (onlyActive and entry["state"] == "completed")]
    found.sort(key=lambda entry: int(entry["time_created_ns"]))
    return {
        "version": VERSION,
        "comm_lib_version": "",
        "pg_config": {
            flight.name: {"name": flight.name, "desc": flight.description, "ranks": str(list(flight.ranks))}
            for flight in flights
        },
        "pg_status": status,
        "entries": [{"record_id": place, **entry} for place, entry in enumerate(found)],
    }


def dumped(
    includeCollectives: bool = True, includeStackTraces: bool = True, onlyActive: bool = False
) -> bytes:
    """The same as a pickle, which PyTorch's tools read."""
    return pickle.dumps(snapshot(includeCollectives, includeStackTraces, onlyActive))


def dumped_json(includeCollectives: bool = True, onlyActive: bool = False) -> bytes:
    """The same as JSON, without stacks."""
    return json.dumps(snapshot(includeCollectives, False, onlyActive)).encode()


def reset() -> None:
    """Drops the entries."""
    for flight in _flights.values():
        flight.clear()


def file_of(rank: int) -> Path:
    """Where this rank writes its entries."""
    default = Path.home() / ".cache" / "torch" / "comm_lib_trace_rank_"
    return Path(setting("DUMP_TEMP_FILE", str(default)) + str(rank))


def write(rank: int) -> str:
    """Writes the entries; gives the file, or why there is none. Empty: it is not wanted."""
    if setting("DUMP_ON_TIMEOUT", "1").lower() in ("0", "false", "n", "no") or not _size():
        return ""
    path = file_of(rank)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}")  # whoever reads sees a whole file or none
        unfinished.write_bytes(dumped())
        unfinished.replace(path)
    except OSError as error:
        return f"the last collectives could not be written to {path}: {error}"
    return f"the last collectives are in {path} (mindtorch flight reads it)"
