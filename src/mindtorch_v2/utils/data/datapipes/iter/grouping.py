"""Steps that make batches and take them apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from .._steps import InBatches
from ..datapipe import DataChunk, IterDataPipe

__all__ = ["BatcherIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(InBatches, IterDataPipe[Any]):
    """Batches of `batch_size` samples."""

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The samples of batches; `unbatch_level` says how many levels are opened, -1 all."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        super().__init__()
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for batch in self.datapipe:
            yield from self._opened(batch, self.unbatch_level)

    def _opened(self, element: Any, level: int) -> Iterator[Any]:
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if level == -1 and not isinstance(element, (list, DataChunk)) or level == 0:
            yield element
            return
        if not isinstance(element, (list, DataChunk)):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        for item in element:
            yield from self._opened(item, level if level == -1 else level - 1)
