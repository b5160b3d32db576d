"""The times of one statement, and what they say."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_SPREAD_WARNED = 0.25  # interquartile range by median


def select_unit(t: float) -> tuple[str, float]:
    """The unit for a time in seconds, and how long it is: ("us", 1e-6)."""
    power = int(math.floor(math.log10(t) / 3)) if t > 0 else 0
    unit = {-1: "ms", -2: "us", -3: "ns"}.get(power, "s" if power >= 0 else "ns")
    return unit, {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "s": 1.0}[unit]


@dataclass(frozen=True)
class TaskSpec:
    """What was measured."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt: {self.stmt}" if "\n" not in self.stmt else f"stmt:\n{self.stmt}"

    def setup_str(self) -> str:
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{self.setup}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(part for part in parts if part)


@dataclass
class Measurement:
    """The times of several measurements of one statement, each of ``number_per_run`` runs."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @cached_property
    def times(self) -> list[float]:
        """Seconds of one run."""
        return [time / self.number_per_run for time in self.raw_times]

    def _quantile(self, q: float) -> float:
        ordered = sorted(self.times)
        place = q * (len(ordered) - 1)
        low, high = math.floor(place), math.ceil(place)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    @property
    def median(self) -> float:
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        return sum(self.times) / len(self.times)

    @property
    def iqr(self) -> float:
        """The range of the middle half."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def has_warnings(self) -> bool:
        return len(self.times) > 1 and self.iqr / self.median > _SPREAD_WARNED

    @property
    def significant_figures(self) -> int:
        """How many digits of the median the spread leaves."""
        if len(self.times) < 2:
            return 3
        upper = 1.96 * self.iqr / 1.349 / math.sqrt(len(self.times))
        if upper <= 0:
            return 4
        return max(1, min(4, int(math.ceil(math.log10(self.median / upper)))))

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def env(self) -> str:
        return "Unspecified env" if self.task_spec.env is None else self.task_spec.env

    @property
    def as_row_name(self) -> str:
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def meets_confidence(self, threshold: float = 0.25) -> bool:
        """Whether the spread is below a share of the median."""
        return self.iqr / self.median < threshold

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """The measurements of each statement as one."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for measurement in measurements:
            groups.setdefault(measurement.task_spec, []).append(measurement)
        merged = []
        for task, group in groups.items():
            merged.append(Measurement(1, [time for m in group for time in m.times], task))
        return merged

    def __repr__(self) -> str:
        unit, seconds = select_unit(self.median)
        count, threads = len(self.times), self.task_spec.num_threads
        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / seconds:.2f} {unit}")
        if count >= 4:
            low, high = self._quantile(0.25) / seconds, self._quantile(0.75) / seconds
            lines.append(f"  IQR:    {self.iqr / seconds:.2f} {unit} ({low:.2f} to {high:.2f})")
        each = "runs per measurement" if count > 1 else "runs "
        lines.append(
            f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} {each}, {threads} "
            f"thread{'s' if threads > 1 else ''}"
        )
        if self.has_warnings:
            lines.append(
                f"  WARNING: Interquartile range is {self.iqr / self.median:.1%} of the median measurement.\n"
                "           This suggests significant environmental influence."
            )
        return "\n".join(lines)
