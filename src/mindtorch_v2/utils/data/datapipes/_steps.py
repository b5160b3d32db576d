"""What steps over iterables and steps over keys have in common."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Self

import mindtorch_v2 as torch

from .datapipe import DataChunk


class InBatches:
    """Settings and length of a step that makes batches of ``batch_size`` samples."""

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__()
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __len__(self) -> int:
        whole, rest = divmod(len(self.datapipe), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


class InChanceOrder:
    """Switch and seed of a step whose order is by chance; it has the samples of ``datapipe``."""

    datapipe: Any
    _enabled = True
    _seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> Self:
        """Whether the order is changed."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int | None) -> Self:
        """The seed of the next pass only."""
        self._seed = seed
        return self

    def _chance(self) -> random.Random:
        """For one pass."""
        seed, self._seed = self._seed, None
        return random.Random(torch.empty((), dtype=torch.int64).random_().item() if seed is None else seed)

    def __len__(self) -> int:
        return len(self.datapipe)
