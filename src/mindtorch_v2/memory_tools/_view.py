"""A page that shows a snapshot: one file, which works without a network.

Note [The page]
``page/`` has its parts: ``page.html`` with places for the rest, styles, scripts in the order of their names, and uPlot
(MIT), which draws the curves. What the page shows is put into it as columns of numbers, compressed, with the texts
beside them. The position of a band is its address: segments one above the other, without what lies between them. So
bands are rectangles, a million of them are drawn in milliseconds, and what looks like a gap is one.
"""

from __future__ import annotations

import base64
import json
import linecache
import os
import zlib
from pathlib import Path
from typing import Any

import numpy

from . import _history, _lifetimes, _model
from ._replay import recorded_conf

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("1_data.js", "2_bands.js", "3_segments.js", "4_flame.js", "5_main.js")
_MOST_LINES = 5000  # of source code that are quoted


def view(
    snapshot: _model.Snapshot, path: str | os.PathLike[str], progress: _model.Progress | None = None
) -> None:
    """Writes the page of a snapshot."""
    devices = []
    columns: list[tuple[str, Any]] = []
    for number, device in enumerate(snapshot.devices):
        if progress:
            progress("laying out", number, len(snapshot.devices))
        devices.append(_device(snapshot, device, number, columns))
    header, offset, parts = {}, 0, []
    for name, array in columns:
        data = numpy.ascontiguousarray(array)
        header[name] = [data.dtype.str[1:], offset, len(data)]
        parts.append(data.astype(data.dtype.newbyteorder("<")).tobytes())
        padding = -len(parts[-1]) % 8
        parts.append(b"\0" * padding)
        offset += len(parts[-2]) + padding
    about = {
        "name": Path(snapshot.name).name, "maker": snapshot.maker, "times": snapshot.has_times,
        "overflowed": snapshot.overflowed, "settings": _plain(snapshot.settings),
        "conf": recorded_conf(snapshot.settings),
        "categories": _lifetimes.CATEGORIES, "devices": devices, "columns": header, **_stacks(snapshot),
    }  # fmt: skip
    if progress:
        progress("writing", 1, 2)
    packed = base64.b64encode(zlib.compress(b"".join(parts), 6)).decode()
    Path(path).write_text(_page(about, packed), encoding="utf-8")


def write_page(path: str | os.PathLike[str]) -> str:
    """Writes the page of a snapshot's file beside it, and returns its name."""
    page = Path(path).with_suffix(".html")
    view(_model.read(path), page)
    return str(page)


def _page(about: dict[str, Any], packed: str) -> str:
    # Inside a script element nothing may look like its end, whatever a stack of the file says.
    text = json.dumps(about, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e")
    parts = {
        "style": _read("uplot/uPlot.min.css") + _read("page.css"),
        "uplot": _read("uplot/uPlot.iife.min.js"),
        "scripts": "\n".join(_read(name) for name in _SCRIPTS),
        "about": text,
        "data": packed,
    }
    page = _read("page.html")
    for name, content in parts.items():
        page = page.replace(f"<!--{name}-->", content)
    return page


def _read(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _plain(settings: dict[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in settings.items()}


def _stacks(snapshot: _model.Snapshot) -> dict[str, Any]:
    """Frames once each, stacks as lists of their numbers, and the lines of code as far as the files are here."""
    numbers: dict[_model.Frame, int] = {}
    stacks = [[numbers.setdefault(frame, len(numbers)) for frame in stack] for stack in snapshot.stacks]
    frames = [[frame.file, frame.line, frame.function] for frame in numbers]
    lines = [linecache.getline(f.file, f.line).strip() if f.file else "" for f in list(numbers)[:_MOST_LINES]]
    return {
        "frames": frames, "lines": lines, "stacks": stacks,
        "places": [_model.place_of(stack) for stack in snapshot.stacks],
    }  # fmt: skip


def _device(
    snapshot: _model.Snapshot, device: _model.Device, number: int, columns: list[tuple[str, Any]]
) -> dict[str, Any]:
    found = _lifetimes.lifetimes(snapshot, device)
    history = device.history
    segments = _segment_lifetimes(device)
    shelf = _Shelf(segments[:, :2], found)

    def add(name: str, array: Any) -> None:
        columns.append((f"{name}{number}", array))

    add("y", shelf.place(found.address))
    add("size", found.size.astype(numpy.float64))
    add("begin", found.begin.astype(numpy.int32))
    add("end", found.end.astype(numpy.int32))
    add("stack", found.stack.astype(numpy.uint32))
    add("category", found.category.astype(numpy.uint8))
    add("address", found.address.astype(numpy.float64))
    add("time", (history.time - (history.time[0] if len(history) else 0)).astype(numpy.float64))
    add("allocated", _allocated(device, found))
    add("reserved", _reserved(device))
    add("segment_y", shelf.place(segments[:, 0]))
    for index, name in enumerate(("size", "begin", "end", "stream", "pool", "small"), 1):
        add(f"segment_{name}", segments[:, index].astype(numpy.float64))
    add("segment_address", segments[:, 0].astype(numpy.float64))
    ooms = numpy.flatnonzero(history.action == _model.OOM).tolist()
    return {
        "index": device.index, "events": len(history), "height": float(shelf.height),
        "ooms": [
            {
                "event": event, "size": int(history.size[event]), "free": int(history.address[event]),
                "stack": int(history.stack[event]),
            }
            for event in ooms
        ],
    }  # fmt: skip


def _allocated(device: _model.Device, found: _lifetimes.Lifetimes) -> Any:
    """Bytes that programs had asked for, after each event."""
    action, size = device.history.action, device.history.size
    change = numpy.where(action == _model.ALLOC, size, numpy.where(action == _model.FREE_COMPLETED, -size, 0))
    before = int(found.size[found.begin == -1].sum())
    return (before + change.cumsum()).astype(numpy.float64)


def _reserved(device: _model.Device) -> Any:
    action, size = device.history.action, device.history.size
    more = numpy.isin(action, (_model.SEGMENT_ALLOC, _model.SEGMENT_MAP))
    less = numpy.isin(action, (_model.SEGMENT_FREE, _model.SEGMENT_UNMAP))
    change = numpy.where(more, size, numpy.where(less, -size, 0)).cumsum()
    start = device.reserved - (int(change[-1]) if len(change) else 0)
    return (start + change).astype(numpy.float64)


def _segment_lifetimes(device: _model.Device) -> Any:
    """Rows of (address, size, begin, end, stream, pool, small): every segment, and every mapped run, that there was."""
    history = device.history
    count = len(history)
    small = {segment.address: int(segment.small) for segment in device.segments}
    live: dict[int, list[int]] = {}
    done: list[list[int]] = []

    def cut(address: int, size: int, event: int) -> None:
        """What lies in a range ends; what is left of it begins anew."""
        end = address + size
        for start in [start for start, row in live.items() if start < end and start + row[1] > address]:
            row = live.pop(start)
            done.append([*row[:3], event, *row[4:]])
            if start < address:
                live[start] = [start, address - start, event, count, *row[4:]]
            if start + row[1] > end:
                live[end] = [end, start + row[1] - end, event, count, *row[4:]]

    for segment in _history.beginning(device, lambda size: -(-max(size, 1) // 512) * 512).segments:
        live[segment.address] = [
            segment.address, segment.size, -1, count, segment.stream, segment.pool, int(segment.small),
        ]  # fmt: skip
    wanted = numpy.flatnonzero(
        (history.action >= _model.SEGMENT_ALLOC) & (history.action <= _model.SEGMENT_UNMAP)
    )
    for event in wanted.tolist():
        action, address, size = (int(c[event]) for c in (history.action, history.address, history.size))
        if action in (_model.SEGMENT_FREE, _model.SEGMENT_UNMAP):
            cut(address, size, event)
        else:
            is_small = small.get(address, int(size == 2 << 20))
            live[address] = [
                address,
                size,
                event,
                count,
                int(history.stream[event]),
                int(history.pool[event]),
                is_small,
            ]
    if not count:
        for segment in device.segments:
            live[segment.address] = [
                segment.address, segment.size, -1, 0, segment.stream, segment.pool, int(segment.small),
            ]  # fmt: skip
    return numpy.array(done + list(live.values()), dtype=numpy.int64).reshape(len(done) + len(live), 7)


class _Shelf:
    """Addresses without what lies between the segments."""

    def __init__(self, ranges: Any, found: _lifetimes.Lifetimes) -> None:
        alone = numpy.stack([found.address, numpy.maximum(found.size, 1)], axis=1)
        every = numpy.concatenate([ranges, alone]).astype(numpy.int64)
        every = every[numpy.argsort(every[:, 0], kind="stable")]
        if not len(every):
            self._starts = self._places = numpy.zeros(1, numpy.int64)
            self.height = 1
            return
        ends = numpy.maximum.accumulate(every[:, 0] + every[:, 1])
        first = numpy.concatenate([[True], every[1:, 0] > ends[:-1]])
        self._starts = every[first, 0]
        last = numpy.concatenate([numpy.flatnonzero(first)[1:] - 1, [len(every) - 1]])
        sizes = ends[last] - self._starts
        self._places = numpy.concatenate([[0], sizes.cumsum()[:-1]])
        self.height = int(sizes.sum())

    def place(self, addresses: Any) -> Any:
        """Where addresses stand on the shelf."""
        run = numpy.clip(numpy.searchsorted(self._starts, addresses, side="right") - 1, 0, None)
        return (addresses - self._starts[run] + self._places[run]).astype(numpy.float64)
