"""Lists of events: summed up by name, printed as a table, written as stacks."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from .._devices import registry
from ._averages import FunctionEventAvg, average
from ._kinds import DeviceType
from ._table import TableOptions, build_table

# Characters that have a meaning in the file of stacks.
_IN_STACKS = str.maketrans(" ;\t\n", "____")


class EventList(list[Any]):
    """Events, or their averages, by start time."""

    def __init__(
        self,
        events: Iterable[Any] = (),
        *,
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
    ) -> None:
        super().__init__(events)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops

    def _populate_cpu_children(self) -> None:
        """Makes each event of the host a child of the innermost event of its thread that it lies in."""
        threads: dict[tuple[int, int], list[Any]] = {}
        for event in self:
            if not event.is_async and event.device_type is DeviceType.CPU:
                threads.setdefault((event.thread, event.node_id), []).append(event)
        for events in threads.values():
            around: list[Any] = []
            for event in sorted(events, key=lambda e: (e.time_range.start, -e.time_range.end)):
                while around and (
                    event.time_range.start >= around[-1].time_range.end
                    or event.time_range.end > around[-1].time_range.end
                ):
                    around.pop()
                if around:
                    event.cpu_parent = around[-1]
                    around[-1].cpu_children.append(event)
                around.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One row per operator name (and per shapes, innermost lines of the stack, and overload, if asked)."""
        return EventList(
            average(self, group_by_input_shapes, group_by_stack_n, group_by_overload_name),
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )

    def total_average(self) -> FunctionEventAvg:
        """Everything in one row."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
            total.key = None
        total.key = "Total"
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
        *,
        memory_details: bool = False,
    ) -> str:
        """A table in PyTorch's layout, the largest ``sort_by`` ("cpu_time_total", "device_time_total", "count", …)
        first. ``memory_details=True`` adds what each row allocated, freed of its own and of others', kept, and
        its peak."""
        return build_table(
            self,
            TableOptions(
                sort_by=sort_by,
                row_limit=row_limit,
                source_width=max_src_column_width,
                name_width=max_name_column_width,
                shapes_width=max_shapes_column_width,
                header=header,
                top_level_events_only=top_level_events_only,
                time_unit=time_unit,
                profile_memory=self._profile_memory,
                with_flops=self._with_flops,
                memory_details=memory_details,
            ),
        )

    def supported_export_stacks_metrics(self) -> list[str]:
        return [f"self_{kind}_time_total" for kind in ("cpu", "cuda", *registry.accelerators)]

    def export_stacks(self, path: str | os.PathLike[str], metric: str) -> None:
        """Writes ``outer;inner microseconds`` lines, which flame graph tools read; needs ``with_stack=True``."""
        if metric not in (offered := self.supported_export_stacks_metrics()):
            raise ValueError(f"metric should be one of: {offered}")
        attribute = metric if metric == "self_cpu_time_total" else "self_device_time_total"
        with open(path, "w", encoding="utf-8") as out:
            for event in self:
                value = int(getattr(event, attribute))
                if event.stack and value > 0:
                    frames = ";".join(entry.translate(_IN_STACKS) for entry in reversed(event.stack))
                    out.write(f"{frames} {value}\n")

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Not offered for lists, which have lost the order and the links of what was recorded."""
        raise NotImplementedError(
            "EventList.export_chrome_trace(): export the profiler that recorded the events, with "
            "prof.export_chrome_trace(path)"
        )

    def __str__(self) -> str:
        return self.table()
