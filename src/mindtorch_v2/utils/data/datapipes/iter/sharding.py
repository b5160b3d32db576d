"""Steps that give each worker a part."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]


class SHARDING_PRIORITIES(IntEnum):
    """Who shares first: processes, then the workers of each; or all at once."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe[Any]):
    """Every n-th sample, of those that :meth:`apply_sharding` says; all of them before."""

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        super().__init__()
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}

    def apply_sharding(
        self,
        num_of_instances: int,
        instance_id: int,
        sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
    ) -> None:
        """Gives the samples `instance_id`, `instance_id + num_of_instances`, … of the group."""
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})"
            )
        others = set(self.groups) - {sharding_group}
        if others and SHARDING_PRIORITIES.DEFAULT in {sharding_group, *others}:
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = (num_of_instances, instance_id)

    def _share(self) -> tuple[int, int]:
        count, at = 1, 0
        for group in sorted(self.groups):
            if self.sharding_group_filter in (None, group):
                instances, index = self.groups[group]
                at += count * index
                count *= instances
        return count, at

    def __iter__(self) -> Iterator[Any]:
        count, at = self._share()
        return itertools.islice(iter(self.source_datapipe), at, None, count)

    def __len__(self) -> int:
        count, at = self._share()
        return len(range(at, len(self.source_datapipe), count))
