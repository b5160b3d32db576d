"""Averages of neighbours often, of all seldom (Lin et al., 2020: hierarchical SGD)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...world import new_subgroups
from .averagers import ModelAverager, check_warmup, warn_of_every_step
from .utils import average_parameters_or_parameter_groups

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(ModelAverager):
    """``period_group_size_dict`` says every how many steps how many neighbours average; the last are all.

    In a step that several periods divide, the largest of them counts.
    """

    def __init__(
        self,
        period_group_size_dict: Mapping[int, int] | None = None,
        warmup_steps: int = 0,
        process_group: Any = None,
    ) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        self._periods, sizes = list(period_group_size_dict), list(period_group_size_dict.values())
        if self._periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        if self._periods[-1] == 1:
            warn_of_every_step("the maximum period in arg ``period_group_size_dict``")
        overall = self.process_group.size()
        if sizes[-1] != overall:
            raise ValueError(
                f"The last value in arg ``period_group_size_dict`` {sizes[-1]} must be equal to the size of arg "
                f"``process_group`` {overall}."
            )
        self.warmup_steps = check_warmup(warmup_steps)
        self.period_process_group_dict: dict[int, Any] = {
            period: self.process_group if size == overall else new_subgroups(size, self.process_group)[0]
            for period, size in period_group_size_dict.items()
        }

    def average_parameters(self, params: Iterable[Any]) -> None:
        if self.step >= self.warmup_steps:
            due = [period for period in self._periods if self.step % period == 0]
            if due:
                average_parameters_or_parameter_groups(params, self.period_process_group_dict[due[-1]])
        self.step += 1
