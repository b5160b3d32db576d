"""Events of the same kind summed up: the rows of ``key_averages()``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._function_event import FormattedTimesMixin, FunctionEvent
from ._kinds import DeviceType
from ._memory_use import MemoryUse

_SUMS = (
    "count", "cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total",
    "cpu_memory_usage", "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage", "flops",
)  # fmt: skip


class FunctionEventAvg(FormattedTimesMixin):
    """The sum of events with one key; ``cpu_time`` and ``device_time`` are averages."""

    is_remote = False
    is_legacy = False

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id = 0
        self.is_async = False
        self.use_device: str | None = None
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.device_time_total = 0.0
        self.self_device_time_total = 0.0
        self.cpu_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.self_device_memory_usage = 0
        self.memory: MemoryUse | None = None
        self.flops = 0
        self.input_shapes: list[list[Any]] | str | None = None
        self.overload_name: str | None = None
        self.stack: tuple[str, ...] = ()
        self.scope: int | None = None
        self.device_type = DeviceType.CPU
        self.is_user_annotation = False
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] | None = None

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Adds an event, which must have the same key; the first gives its key."""
        if self.key is None:
            for name in (
                "key", "node_id", "is_async", "cpu_parent", "cpu_children", "overload_name", "input_shapes", "stack",
                "scope", "device_type", "use_device", "is_user_annotation",
            ):  # fmt: skip
                setattr(self, name, getattr(other, name))
        elif other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.memory is not None:
            if self.memory is None:
                self.memory = MemoryUse()
            self.memory.add(other.memory)
        return self

    def __iadd__(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>"
        )


def average(
    events: Iterable[FunctionEvent], by_shapes: bool, stack_entries: int, by_overload: bool
) -> list[FunctionEventAvg]:
    """The averages in the order in which their first event began."""
    groups: dict[tuple[Any, ...], FunctionEventAvg] = {}
    for event in events:
        key: tuple[Any, ...] = (event.key, event.device_type, event.is_user_annotation)
        if by_overload:
            key += (event.overload_name,)
        if by_shapes:
            key += (str(event.input_shapes),)
        if stack_entries > 0:
            key += tuple(event.stack[:stack_entries])
        group = groups.get(key)
        if group is None:
            group = groups[key] = FunctionEventAvg()
        group.add(event)
    for group in groups.values():
        group.stack = group.stack[: max(stack_entries, 0)]
        if not by_shapes:
            group.input_shapes = ""
        if not by_overload:
            group.overload_name = ""
    return list(groups.values())
