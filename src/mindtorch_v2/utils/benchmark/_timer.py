"""Timing a statement with as many runs as a steady figure takes."""

from __future__ import annotations

import textwrap
import timeit
from collections.abc import Callable
from enum import Enum
from typing import Any

import mindtorch_v2 as torch

from ... import overrides
from ..._devices import registry
from ._measurement import Measurement, TaskSpec


class Language(Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """The time, after all work of an accelerator in use is done."""
    for found in registry.accelerators.values():
        if found.module.is_initialized():
            found.module.synchronize()
    return timeit.default_timer()


class Timer:
    """Measures a statement on one thread, or as many as asked for, with warm-up."""

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError(
                "torch.utils.benchmark.Timer: only statements in Python can be measured"
            )
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this can simply be moved to `setup`."
            )
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        known = dict(globals or {})
        known.setdefault("torch", overrides.namespaces["torch"])
        self._timer = timeit.Timer(stmt, setup, timer, known)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _run(self, number: int) -> float:
        """Seconds of that many runs, with the number of threads asked for."""
        before = torch.get_num_threads()
        torch.set_num_threads(self._task_spec.num_threads)
        try:
            return max(self._timer.timeit(number), 1e-9)
        finally:
            torch.set_num_threads(before)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One measurement of ``number`` runs, after a warm-up."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self._task_spec)

    def _block_size(self, min_run_time: float) -> int:
        """Runs per measurement, so that looking at the clock costs little."""
        overhead = min(self._timer_overhead() for _ in range(5))
        number = 1
        while True:
            taken = self._run(number)
            if overhead <= taken * 1e-4 and taken >= min_run_time / 1000:
                return number
            if taken > min_run_time or number * 10 > 2147483647:
                return number
            number *= 10

    @staticmethod
    def _timer_overhead() -> float:
        start = timeit.default_timer()
        return timeit.default_timer() - start

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measurements until ``min_run_time`` seconds are over, in blocks long enough for the clock."""
        number = self._block_size(min_run_time)
        times: list[float] = []
        while not times or sum(times) < min_run_time:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Measurements until their spread is below ``threshold`` of the median, or time is up."""
        number = self._block_size(min_run_time)
        times: list[float] = []
        while True:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
            total, found = sum(times), Measurement(number, times, self._task_spec)
            steady = len(times) > 3 and found.meets_confidence(threshold)
            if total >= max_run_time or (total >= min_run_time and steady):
                return found
