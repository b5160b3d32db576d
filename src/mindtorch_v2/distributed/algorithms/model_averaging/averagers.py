"""Averagers: called after each step, they average the model in some of them."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ...world import resolved
from .utils import average_parameters_or_parameter_groups

__all__ = ["ModelAverager", "PeriodicModelAverager"]


def check_warmup(steps: int) -> int:
    """The steps without averages, which cannot be fewer than none."""
    if steps < 0:
        raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
    return steps


def warn_of_every_step(what: str) -> None:
    """An average in each step costs what averaging gradients does, and is worse."""
    warnings.warn(
        f"When {what} is 1, no need to use model averaging because the communication cost of all-reducing parameters "
        "will be no less than the cost of all-reducing gradients by DistributedDataParallel in the backward pass. "
        "Therefore, only DistributedDataParallel should be used for this case.",
        stacklevel=3,
    )


class ModelAverager(ABC):
    """Counts steps in ``step``; which of them end with an average is a subclass's choice."""

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = resolved(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """After a step: averages, or does not. Parameters, or an optimizer's groups of them."""


class PeriodicModelAverager(ModelAverager):
    """Every ``period`` steps after the first ``warmup_steps``."""

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        self.warmup_steps = check_warmup(warmup_steps)
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warn_of_every_step("period")
        self.period = period

    def average_parameters(self, params: Iterable[Any]) -> None:
        since = self.step - self.warmup_steps
        if since >= 0 and since % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
