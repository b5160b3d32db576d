"""Steps that leave samples out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """The samples for which a function, of all or of the columns `input_col`, gives True."""

    def __init__(self, datapipe: Any, filter_fn: Callable[..., bool], input_col: Any = None) -> None:
        super().__init__()
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            if self._wanted(sample):
                yield sample

    def _wanted(self, sample: Any) -> bool:
        column = self.input_col
        if column is None:
            answer: Any = self.filter_fn(sample)
        elif isinstance(column, (list, tuple)):
            answer = self.filter_fn(*(sample[each] for each in column))
        else:
            answer = self.filter_fn(sample[column])
        if not isinstance(answer, bool):
            raise ValueError(
                f"Boolean output is required for `filter_fn` of FilterIterDataPipe, got {type(answer)}"
            )
        return answer
