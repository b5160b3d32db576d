"""Lists of events: summed up by name, and printed as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._averages import FunctionEventAvg, average
from ._table import build_table


class EventList(list[Any]):
    """Events, or their averages, by start time."""

    def __init__(self, events: Iterable[Any] = (), *, profile_memory: bool = False) -> None:
        super().__init__(events)
        self._profile_memory = profile_memory

    @property
    def self_cpu_time_total(self) -> float:
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One row per operator name (and per shapes, and per overload, if asked)."""
        if group_by_stack_n:
            raise NotImplementedError(
                f"key_averages(group_by_stack_n={group_by_stack_n}): stacks are not recorded yet; use 0"
            )
        averages = average(self, group_by_input_shapes, group_by_overload_name)
        return EventList(averages, profile_memory=self._profile_memory)

    def total_average(self) -> FunctionEventAvg:
        """Everything in one row."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """A table in PyTorch's layout, the largest ``sort_by`` ("cpu_time_total", "count", …) first."""
        return build_table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            name_width=max_name_column_width,
            shapes_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
            profile_memory=self._profile_memory,
            time_unit=time_unit,
        )

    def __str__(self) -> str:
        return self.table()
