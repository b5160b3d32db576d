"""The text table of ``key_averages().table()``, in PyTorch's layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._devices import registry
from ._averages import FunctionEventAvg
from ._format import flops_unit, format_memory, format_share, format_time, shorten, shorten_front
from ._kinds import DeviceType

_WIDTH = 12
_GAP = "  "


class TableOptions(NamedTuple):
    sort_by: str | None
    row_limit: int
    source_width: int | None
    name_width: int | None
    shapes_width: int | None
    header: str | None
    top_level_events_only: bool
    time_unit: str | None
    profile_memory: bool
    with_flops: bool
    memory_details: bool


class _Column(NamedTuple):
    title: str
    width: int
    show: Callable[[Any], str]
    left: bool = False  # aligned

    def cell(self, text: str) -> str:
        return (f"{text:<{self.width}}" if self.left else f"{text:>{self.width}}") + _GAP


def _sort_key(sort_by: str) -> str:
    """Programs written for a device ask for "cuda_time_total", or for that of a device that is here."""
    for kind in ("cuda", "privateuse1", *registry.accelerators):
        sort_by = sort_by.replace(f"{kind}_", "device_")
    return sort_by


def build_table(events: Sequence[Any], options: TableOptions) -> str:
    if not events:
        return ""
    events = list(events)
    if options.sort_by is not None:
        key = _sort_key(options.sort_by)
        events.sort(key=lambda event: getattr(event, key), reverse=True)
    total = sum(event.self_cpu_time_total for event in events)
    on_device = [e for e in events if e.device_type is not DeviceType.CPU and not e.is_user_annotation]
    device_total = sum(event.self_device_time_total for event in on_device)

    columns = _columns(events, options, total, device_total)
    line = "".join("-" * column.width + _GAP for column in columns)
    rule = "=" * (len(line) - len(_GAP))
    lines = [rule, options.header] if options.header is not None else []
    if options.top_level_events_only:
        lines += [rule, "This report only display top-level ops statistics"]
    lines += [line, "".join(column.cell(column.title) for column in columns), line]
    shown = [e for e in events if e.cpu_parent is None] if options.top_level_events_only else events
    for event in shown if options.row_limit < 0 else shown[: options.row_limit]:
        lines += _rows(event, columns)
    lines += [line, f"Self CPU time total: {format_time(total, options.time_unit)}"]
    if _has_device_time(events):
        device = events[0].use_device.upper()
        lines.append(f"Self {device} time total: {format_time(device_total, options.time_unit)}")
    return "\n".join([*lines, ""])


def _rows(event: Any, columns: list[_Column]) -> list[str]:
    """One line; with a stack, a line for each entry and an empty one."""
    lines = ["".join(column.cell(column.show(event)) for column in columns)]
    source = next((column for column in columns if column.title == "Source Location"), None)
    if source is not None:
        for entry in [*event.stack[1:], ""]:
            cells = [shorten_front(entry, column.width) if column is source else "" for column in columns]
            lines.append("".join(column.cell(text) for column, text in zip(columns, cells, strict=True)))
    return lines


def _has_device_time(events: Sequence[Any]) -> bool:
    return any(event.self_device_time_total > 0 for event in events)


def _width(longest: int, limit: int | None) -> int:
    return longest + 4 if limit is None else min(longest + 4, limit)


def _columns(events: list[Any], options: TableOptions, total: float, device_total: float) -> list[_Column]:
    unit = options.time_unit
    device = (events[0].use_device or "None").upper()
    name_width = _width(max(len(event.key) for event in events), options.name_width)
    columns = [_Column("Name", name_width, lambda e: shorten(e.key, options.name_width))]

    def add(title: str, show: Callable[[Any], str]) -> None:
        columns.append(_Column(title, _WIDTH, show))

    if any(event.overload_name for event in events if isinstance(event, FunctionEventAvg)):
        columns.append(
            _Column("Overload Name", name_width, lambda e: shorten(e.overload_name, options.name_width))
        )
    add("Self CPU %", lambda e: format_share(e.self_cpu_time_total, total))
    add("Self CPU", lambda e: format_time(e.self_cpu_time_total, unit))
    add("CPU total %", lambda e: format_share(e.cpu_time_total, total))
    add("CPU total", lambda e: format_time(e.cpu_time_total, unit))
    add("CPU time avg", lambda e: format_time(e.cpu_time, unit))
    if _has_device_time(events):
        add(f"Self {device}", lambda e: format_time(e.self_device_time_total, unit))
        add(f"Self {device} %", lambda e: format_share(e.self_device_time_total, device_total))
        add(f"{device} total", lambda e: format_time(e.device_time_total, unit))
        add(f"{device} time avg", lambda e: format_time(e.device_time, unit))
    if options.profile_memory:
        add("CPU Mem", lambda e: format_memory(e.cpu_memory_usage))
        add("Self CPU Mem", lambda e: format_memory(e.self_cpu_memory_usage))
        if events[0].use_device and any(event.self_device_memory_usage > 0 for event in events):
            add(f"{device} Mem", lambda e: format_memory(e.device_memory_usage))
            add(f"Self {device} Mem", lambda e: format_memory(e.self_device_memory_usage))
    if options.memory_details:

        def detail(name: str) -> Callable[[Any], str]:
            return lambda e: format_memory(getattr(e.memory, name)) if e.memory else "--"

        for title, name in (
            ("Allocated", "allocated"), ("Freed own", "freed_own"), ("Freed others", "freed_others"),
            ("Retained", "retained"), ("Peak", "peak"),
        ):  # fmt: skip
            add(title, detail(name))
    add("# of Calls", lambda e: str(e.count))
    if any(event.input_shapes for event in events):
        longest = max(len(str(event.input_shapes)) for event in events)
        width = _width(longest, options.shapes_width)
        columns.append(_Column("Input Shapes", width, lambda e: str(e.input_shapes)[:width]))
    flops = [event.flops for event in events if event.flops > 0]
    if any(event.stack for event in events):
        longest = max((len(entry) for event in events for entry in event.stack), default=0)
        source_width = _width(longest, options.source_width)

        def source(event: Any) -> str:
            return shorten_front(event.stack[0], source_width) if event.stack else ""

        columns.append(_Column("Source Location", source_width, source, left=True))
    if options.with_flops and flops:
        scale, title = flops_unit(min(flops))
        add(f"Total {title}", lambda e: f"{e.flops / scale:8.3f}" if e.flops > 0 else "--")
    return columns
