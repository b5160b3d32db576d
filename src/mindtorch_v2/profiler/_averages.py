"""Events of the same kind summed up: the rows of ``key_averages()``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._events import DeviceType, FunctionEvent, _Times


class FunctionEventAvg(_Times):
    """The sum of events with one key; ``cpu_time`` is the average."""

    node_id = -1
    is_async = False
    is_remote = False
    is_legacy = False
    device_type = DeviceType.CPU
    use_device = "npu"
    cpu_memory_usage = 0
    self_cpu_memory_usage = 0
    flops = 0
    stack: tuple[Any, ...] = ()

    def __init__(self, key: str) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.device_memory_usage = 0
        self.self_device_memory_usage = 0
        self.input_shapes: list[list[int]] | str = ""
        self.overload_name = ""
        self.is_user_annotation = False
        self.cpu_parent: FunctionEvent | None = None

    def add(self, event: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        if self.count == 0:
            self.is_user_annotation = event.is_user_annotation
            self.cpu_parent = event.cpu_parent
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.device_memory_usage += event.device_memory_usage
        self.self_device_memory_usage += event.self_device_memory_usage
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} count={self.count} "
            f"self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
            f"input_shapes={self.input_shapes} device_memory_usage={self.device_memory_usage}>"
        )


def average(events: Iterable[FunctionEvent], by_shapes: bool, by_overload: bool) -> list[FunctionEventAvg]:
    """The averages in the order in which their first event began."""
    groups: dict[tuple[Any, ...], FunctionEventAvg] = {}
    for event in events:
        shapes = str(event.input_shapes) if by_shapes else ""
        overload = event.overload_name if by_overload else ""
        key = (event.key, event.is_user_annotation, shapes, overload)
        group = groups.get(key)
        if group is None:
            group = groups[key] = FunctionEventAvg(event.key)
            group.overload_name = overload
            if by_shapes:
                group.input_shapes = event.input_shapes
        group.add(event)
    return list(groups.values())
