"""Steps that give samples by their key."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._decorator import functional_datapipe
from .._steps import InBatches, InChanceOrder
from ..datapipe import IterDataPipe, MapDataPipe

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapper(MapDataPipe[Any]):
    """The items of a sequence or a dictionary; of a copy, so that later changes are not seen."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class Mapper(MapDataPipe[Any]):
    """A function of each sample."""

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any]) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class Batcher(InBatches, MapDataPipe[Any]):
    """Batches of `batch_size` samples with the keys 0, 1, …."""

    def __getitem__(self, index: int) -> Any:
        begin = index * self.batch_size
        keys = range(begin, min(begin + self.batch_size, len(self.datapipe)))
        if not keys or self.drop_last and len(keys) < self.batch_size:
            raise IndexError(f"Index {index} is out of bound.")
        return self.wrapper_class([self.datapipe[key] for key in keys])


class _Sources(MapDataPipe[Any]):
    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(pipe, MapDataPipe) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `MapDataPipe`")
        self.datapipes = datapipes


@functional_datapipe("concat")
class Concater(_Sources):
    """One source after the other, under the keys 0, 1, …."""

    def __getitem__(self, index: int) -> Any:
        rest = index
        for pipe in self.datapipes:
            if rest < len(pipe):
                return pipe[rest]
            rest -= len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class Zipper(_Sources):
    """A tuple of what every source has under a key."""

    def __getitem__(self, index: Any) -> Any:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


class Shuffler(InChanceOrder, IterDataPipe[Any]):
    """The samples in an order by chance, one after the other."""

    def __init__(self, datapipe: Any, *, indices: Sequence[Any] | None = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices

    def __iter__(self) -> Iterator[Any]:
        order = list(self.indices)
        if self._enabled:
            order = self._chance().sample(order, len(order))[::-1]
        return (self.datapipe[index] for index in order)


MapDataPipe.register_datapipe_as_function("shuffle", Shuffler)
