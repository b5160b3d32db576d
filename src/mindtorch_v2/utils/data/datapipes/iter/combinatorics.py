"""Steps that change the order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...sampler import SequentialSampler
from .._decorator import functional_datapipe
from .._steps import InChanceOrder
from ..datapipe import IterDataPipe

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe[Any]):
    """The indices that a sampler draws for a step with a length."""

    def __init__(
        self,
        datapipe: Any,
        sampler: Any = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if not hasattr(datapipe, "__len__"):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        self.datapipe = datapipe
        self.sampler = sampler(*(sampler_args or ()), data_source=datapipe, **(sampler_kwargs or {}))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(InChanceOrder, IterDataPipe[Any]):
    """Samples drawn from a buffer that is filled from the source."""

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        super().__init__()
        if buffer_size <= 0:
            raise ValueError(f"buffer_size should be larger than 0, got {buffer_size}")
        self.datapipe = datapipe.unbatch(unbatch_level=unbatch_level) if unbatch_level else datapipe
        self.buffer_size = buffer_size

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        chance = self._chance()
        buffer: list[Any] = []
        for sample in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
                continue
            at = chance.randint(0, len(buffer) - 1)
            chosen, buffer[at] = buffer[at], sample
            yield chosen
        while buffer:
            yield buffer.pop(chance.randint(0, len(buffer) - 1))
