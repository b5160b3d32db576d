"""The text table of ``key_averages().table()``, in PyTorch's layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._format import format_memory, format_share, format_time, shorten

_COLUMN_WIDTH = 12
_GAP = "  "
# What a table can be sorted by: numbers that every event and average has.
_SORT_KEYS = (
    "count", "cpu_time", "cpu_time_total", "self_cpu_time_total", "device_time", "device_time_total",
    "self_device_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "device_memory_usage",
    "self_device_memory_usage", "flops",
)  # fmt: skip

_Column = tuple[str, int, Callable[[Any], str]]


def _sort_key(sort_by: str) -> str:
    """Programs written for a device ask for "npu_time_total" or "cuda_memory_usage"."""
    key = sort_by.replace("npu_", "device_").replace("cuda_", "device_")
    if key not in _SORT_KEYS:
        raise AttributeError(f"table(sort_by={sort_by!r}): must be one of {', '.join(_SORT_KEYS)}")
    return key


def build_table(
    events: Sequence[Any],
    *,
    sort_by: str | None,
    row_limit: int,
    name_width: int,
    shapes_width: int,
    header: str | None,
    top_level_events_only: bool,
    profile_memory: bool,
    time_unit: str | None,
) -> str:
    if not events:
        return ""
    total = sum(event.self_cpu_time_total for event in events)
    shown = list(events)
    if sort_by is not None:
        key = _sort_key(sort_by)
        shown.sort(key=lambda event: getattr(event, key), reverse=True)
    if top_level_events_only:
        shown = [event for event in shown if event.cpu_parent is None]
    if row_limit >= 0:
        shown = shown[:row_limit]

    columns = _columns(shown, total, name_width, shapes_width, profile_memory, time_unit)
    line = "".join("-" * width + _GAP for _, width, _ in columns)
    rule = "=" * (len(line) - len(_GAP))
    lines = [rule, header] if header is not None else []
    if top_level_events_only:
        lines += [rule, "This report only display top-level ops statistics"]
    lines += [line, "".join(f"{title:>{width}}{_GAP}" for title, width, _ in columns), line]
    for event in shown:
        lines.append("".join(f"{show(event):>{width}}{_GAP}" for _, width, show in columns))
    lines += [line, f"Self CPU time total: {format_time(total, time_unit)}", ""]
    return "\n".join(lines)


def _columns(
    shown: list[Any],
    total: float,
    name_width: int,
    shapes_width: int,
    profile_memory: bool,
    time_unit: str | None,
) -> list[_Column]:
    longest = max((len(shorten(event.key, name_width)) for event in shown), default=0)
    columns: list[_Column] = [("Name", min(longest + 4, name_width), lambda e: shorten(e.key, name_width))]

    def add(title: str, show: Callable[[Any], str]) -> None:
        columns.append((title, max(_COLUMN_WIDTH, len(title)), show))

    if any(getattr(event, "overload_name", "") for event in shown):
        width = max(len(event.overload_name) for event in shown) + 4
        columns.append(("Overload Name", max(_COLUMN_WIDTH + 1, width), lambda e: e.overload_name))
    add("Self CPU %", lambda e: format_share(e.self_cpu_time_total, total))
    add("Self CPU", lambda e: format_time(e.self_cpu_time_total, time_unit))
    add("CPU total %", lambda e: format_share(e.cpu_time_total, total))
    add("CPU total", lambda e: format_time(e.cpu_time_total, time_unit))
    add("CPU time avg", lambda e: format_time(e.cpu_time, time_unit))
    if profile_memory:
        add("NPU Mem", lambda e: format_memory(e.device_memory_usage))
        add("Self NPU Mem", lambda e: format_memory(e.self_device_memory_usage))
    add("# of Calls", lambda e: str(e.count))
    if any(event.input_shapes for event in shown):
        width = min(max(len(str(event.input_shapes)) for event in shown) + 4, shapes_width)
        width = max(_COLUMN_WIDTH, width)
        columns.append(("Input Shapes", width, lambda e: shorten(str(e.input_shapes), width)))
    return columns
