"""What the memory functions of all device modules share: texts, nested statistics, stacks and snapshots.

The functions take the plain data an allocator returns (``memory_stats()``, ``snapshot()``), so that they work
for any device and for test doubles.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FrameType
from typing import Any

from .. import _C
from . import registry

PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_SIZE_UNITS = ["B  ", "KiB", "MiB", "GiB", "TiB", "PiB"]
_COUNT_UNITS = [" ", "K", "M"]


def _format_size(value: int, reference: int) -> str:
    """``value`` in the unit that suits ``reference``, so that one row of the table has one unit."""
    unit = 0
    while unit + 1 < len(_SIZE_UNITS) and reference >= 768 * 1024:
        value //= 1024
        reference //= 1024
        unit += 1
    return f"{value:6d} {_SIZE_UNITS[unit]}"


def _format_count(value: int, reference: int) -> str:
    unit = 0
    while unit + 1 < len(_COUNT_UNITS) and reference >= 750 * 1000:
        value //= 1000
        reference //= 1000
        unit += 1
    return f"{value:7d} {_COUNT_UNITS[unit]} "


_POOL_ROWS: list[tuple[str, str, Callable[[int, int], str]]] = [
    ("allocated_bytes", "Allocated memory", _format_size),
    ("active_bytes", "Active memory", _format_size),
    ("requested_bytes", "Requested memory", _format_size),
    ("reserved_bytes", "Reserved memory", _format_size),
    ("inactive_split_bytes", "Non-releasable memory", _format_size),
    ("allocation", "Allocations", _format_count),
    ("active", "Active allocs", _format_count),
    ("segment", "Reserved segments", _format_count),
    ("inactive_split", "Non-releasable allocs", _format_count),
]
_PLAIN_ROWS = [
    ("oversize_allocations", "Oversize allocations"),
    ("oversize_segments", "Oversize segments"),
]
_COLUMNS = ("current", "peak", "allocated", "freed")


def memory_summary(
    stats: Mapping[str, int], device: int = 0, abbreviated: bool = False, device_name: str | None = None
) -> str:
    """The statistics as a table in PyTorch's layout. Keys that ``stats`` lacks count as 0."""
    device_name = registry.accelerator().title if device_name is None else device_name

    def row(label: str, prefix: str, units_of: list[int], form: Callable[[int, int], str]) -> str:
        values = [stats.get(f"{prefix}.{column}", 0) for column in _COLUMNS]
        cells = " | ".join(form(value, unit) for value, unit in zip(values, units_of, strict=True))
        return f" {label:<21} | {cells} "

    def own_units(prefix: str) -> list[int]:
        return [stats.get(f"{prefix}.{column}", 0) for column in _COLUMNS]

    heavy, light = "=" * 75, "-" * 75
    title = f"MindTorch {device_name} memory summary, device ID {device}"
    counters = (
        f"  {'':9} {device_name} OOMs: {stats.get('num_ooms', 0):<13d} | "
        f"{'':6} allocation retries: {stats.get('num_alloc_retries', 0):<8d}"
    )
    lines = [
        heavy,
        f" {'':16} {title:<56} ",
        light,
        f"{counters:<75}",
        heavy,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    for key, label, form in _POOL_ROWS:
        units = own_units(f"{key}.all")
        lines += [light, row(label, f"{key}.all", units, form)]
        if not abbreviated:
            lines.append(row("      from large pool", f"{key}.large_pool", units, form))
            lines.append(row("      from small pool", f"{key}.small_pool", units, form))
    for key, label in _PLAIN_ROWS:
        lines += [light, row(label, key, own_units(key), _format_count)]
    lines.append(heavy)
    return "".join(f"|{line}|\n" for line in lines)


def nested(stats: Mapping[str, Any]) -> dict[str, Any]:
    """``{"a.b.c": 1}`` as ``{"a": {"b": {"c": 1}}}``: memory_stats() as PyTorch nests it."""
    result: dict[str, Any] = {}
    for key, value in stats.items():
        *path, last = key.split(".")
        place = result
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return result


def flat(stats: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The opposite of :func:`nested`, sorted by key."""
    result: dict[str, Any] = {}
    for key, value in stats.items():
        if isinstance(value, Mapping):
            result.update(flat(value, f"{prefix}{key}."))
        else:
            result[prefix + key] = value
    return dict(sorted(result.items()))


_Stack = tuple[tuple[CodeType, int], ...]


# What is made of a snapshot that was written because memory ran out: each is given the file and returns another. The
# package adds the page of its tools.
snapshot_pages: list[Callable[[str], str]] = []


class StackTable:
    """Python stacks by number. Equal stacks have one number, so a long history stays small."""

    def __init__(self) -> None:
        self._ids: dict[tuple[_Stack, str, str], int] = {}
        self._stacks: list[tuple[_Stack, str, str]] = [((), "", "")]
        self._lock = threading.Lock()
        self.label = (
            ""  # what the program says about its allocations: _set_memory_metadata of a device's module
        )

    def capture(self) -> int:
        """The number of the caller's stack, innermost frame first. Code objects stand for file and function,
        so that nothing is formatted before someone looks."""
        frame: FrameType | None = sys._getframe(1)
        stack = []
        while frame is not None:
            stack.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back
        # Backward is native: without its node, the stack would be that of the line that called it.
        node = _C._current_autograd_node()
        key = (tuple(stack), self.label, "" if node is None else type(node).__name__)
        number = self._ids.get(key)
        if number is None:
            with self._lock:
                number = self._ids.setdefault(key, len(self._stacks))
                if number == len(self._stacks):
                    self._stacks.append(key)
        return number

    def frames(self, number: int) -> list[dict[str, Any]]:
        stack, _, node = self._stacks[number]
        frames = [{"filename": code.co_filename, "line": line, "name": code.co_name} for code, line in stack]
        return [{"filename": "", "line": 0, "name": node}, *frames] if node else frames

    def metadata(self, number: int) -> str:
        return self._stacks[number][1]

    def describe(self, number: int) -> str:
        """The innermost line outside this package, else the innermost one: ``model.py:88 in forward``."""
        stack = self._stacks[number][0]
        if not stack:
            return "an unknown line"
        outside = (place for place in stack if not place[0].co_filename.startswith(PACKAGE))
        code, line = next(outside, stack[0])
        return f"{code.co_filename}:{line} in {code.co_name}"


def complete_snapshot(
    raw: Mapping[str, Any], device: int, stacks: StackTable | None = None
) -> dict[str, Any]:
    """The pool's raw snapshot with PyTorch's other fields: device, pool ids, frames for stack numbers."""
    known: dict[int, list[dict[str, Any]]] = {0: []}

    def frames(number: int) -> list[dict[str, Any]]:
        # One list per stack, shared: pickle then writes it once.
        if number not in known:
            known[number] = stacks.frames(number) if stacks is not None else []
        return known[number]

    segments = []
    for segment in raw["segments"]:
        blocks = []
        for block in segment["blocks"]:
            shown = {key: value for key, value in block.items() if key != "stack"}
            shown["frames"] = frames(block["stack"])
            blocks.append(shown)
        segments.append(
            {
                "device": device,
                **segment,
                "frames": [],
                "blocks": blocks,
            }
        )
    trace = []
    for entry in raw["trace"]:
        shown = {key: value for key, value in entry.items() if key != "stack"}
        metadata = stacks.metadata(entry["stack"]) if stacks is not None else ""
        shown.update(compile_context="N/A", user_metadata=metadata, frames=frames(entry["stack"]))
        trace.append(shown)
    return {"segments": segments, "trace": trace, "settings": dict(raw["settings"])}


def torch_snapshot(snapshots: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Snapshots of several devices (``allocator.snapshot()``) as one in PyTorch's schema."""
    segments: list[Any] = []
    traces: list[list[Any]] = []
    settings: dict[str, Any] = {}
    for snapshot in snapshots:
        device = snapshot["device"]
        segments.extend(snapshot["segments"])
        # The viewer looks a segment's history up by device number, so gaps are filled with empty ones.
        traces.extend([] for _ in range(device + 1 - len(traces)))
        traces[device] = list(snapshot.get("trace", []))
        settings.update(snapshot.get("settings", {}))
    return {
        "segments": segments,
        "device_traces": traces,
        "allocator_settings": settings,
        "external_annotations": [],
    }


def dump_snapshot(snapshot: Mapping[str, Any], path: str) -> None:
    """Writes a :func:`torch_snapshot`. The viewer reads pickle protocols 2 to 4 of plain types only."""
    import pickle

    with open(path, "wb") as file:
        pickle.dump(dict(snapshot), file, protocol=4)
