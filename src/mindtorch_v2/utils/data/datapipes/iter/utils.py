"""Any iterable as a step."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

from ..datapipe import IterDataPipe

__all__ = ["IterableWrapperIterDataPipe"]


class IterableWrapperIterDataPipe(IterDataPipe[Any]):
    """The values of an iterable; a copy of it per pass, so that passes do not see each other's changes."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        super().__init__()
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:  # a generator and the like: it is what it is
                source = self.iterable
        yield from source

    def __len__(self) -> int:
        length: int = len(self.iterable)  # type: ignore[arg-type]
        return length
