"""Copies of a state, so that a program may go on while they are written."""

from __future__ import annotations

import abc
import copy
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..._C import Tensor, _functions
from ..tensor._api import DTensor

__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "StagingOptions"]


@runtime_checkable
class AsyncStager(Protocol):
    """Makes a copy of a state for ``async_save``."""

    _synchronize_after_execute: bool = True

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether ``synchronize_staging`` is to be called before the program goes on."""
        return self._synchronize_after_execute

    @abc.abstractmethod
    def stage(self, state_dict: dict[str, Any]) -> Any:
        """A copy that the program does not change, or a future of it."""

    def synchronize_staging(self) -> None:
        """Returns when the copy is made."""

    def close(self) -> None:
        """Gives up what it holds."""


def staged(value: Any, earlier: Any = None) -> Any:
    """A copy in host memory, in that of an earlier copy where it fits."""
    if isinstance(value, DTensor):
        room = earlier._local_tensor if isinstance(earlier, DTensor) else None
        return DTensor(staged(value._local_tensor, room), value._spec, requires_grad=False)
    if isinstance(value, Tensor):
        return _host_copy(value.detach(), earlier)
    if isinstance(value, dict):
        before = earlier if isinstance(earlier, dict) else {}
        made = {key: staged(each, before.get(key)) for key, each in value.items()}
        return made if type(value) is dict else type(value)(made)
    if type(value) in (list, tuple):
        rooms = (
            earlier
            if isinstance(earlier, type(value)) and len(earlier) == len(value)
            else [None] * len(value)
        )
        return type(value)(staged(each, room) for each, room in zip(value, rooms, strict=True))
    return copy.deepcopy(value)


def _host_copy(tensor: Tensor, room: Any) -> Tensor:
    fits = isinstance(room, Tensor) and room.shape == tensor.shape and room.dtype == tensor.dtype
    if not fits:
        room = _functions.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
    made: Tensor = room.copy_(tensor)
    return made


class BlockingAsyncStager(AsyncStager):
    """Copies before the program goes on; ``cache_staged_state_dict`` keeps the memory for the next time."""

    _synchronize_after_execute = False

    def __init__(self, cache_staged_state_dict: bool = False, type_check: bool = False) -> None:
        self.cache_staged_state_dict = cache_staged_state_dict
        self.type_check = type_check
        self.state_dict_cache: dict[str, Any] | None = None

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = staged(state_dict, self.state_dict_cache)
        if self.cache_staged_state_dict:
            self.state_dict_cache = made
        return made

    def synchronize_staging(self) -> None:
        pass

    def close(self) -> None:
        self.state_dict_cache = None


@dataclass
class StagingOptions:
    """``use_async_staging``: the copy is made beside the program, which must not change the state until it is."""

    use_pinned_memory: bool = True
    use_shared_memory: bool = True
    use_async_staging: bool = True
    use_non_blocking_copy: bool = True


class DefaultStager(AsyncStager):
    """Copies on a thread of its own, or at once."""

    def __init__(self, config: StagingOptions | None = None) -> None:
        self._config = config or StagingOptions()
        self._thread = ThreadPoolExecutor(1) if self._config.use_async_staging else None
        self._under_way: Future[dict[str, Any]] | None = None

    def stage(self, state_dict: dict[str, Any]) -> Any:
        if self._thread is None:
            return staged(state_dict)
        self._under_way = self._thread.submit(staged, state_dict)
        return self._under_way

    def synchronize_staging(self) -> None:
        if self._under_way is not None:
            self._under_way.result()

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()
