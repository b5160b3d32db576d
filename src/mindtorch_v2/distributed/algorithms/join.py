"""``torch.distributed.algorithms.join``: processes with more inputs than others.

A process that has no inputs left would leave the others waiting in their collectives. Inside :class:`Join` it goes on:
once an iteration all say whether they still have inputs, and those that have not take part in the others' collectives
with values that change nothing (:class:`JoinHook`), until nobody has any.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any

from ... import _C
from ..._C import _functions
from .. import collectives
from ..work import Work
from ..world import resolved

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a process without inputs does."""

    def main_hook(self) -> None:
        """Takes part in the collectives of an iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """After all have joined."""


class _JoinConfig:
    def __init__(self, enable: bool, throw: bool, first: bool) -> None:
        self.enable, self.throw_on_early_termination, self.is_first_joinable = enable, throw, first


class Joinable(ABC):
    """Something whose iterations have collectives."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig(False, False, False)

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process without inputs does in its place."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """Where its collectives' tensors are."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of its collectives."""


class Join:
    """``with Join([model, optimizer]):`` around a loop whose length differs between processes."""

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable, self._throw = enable, throw_on_early_termination
        self._group = resolved(joinables[0].join_process_group)
        self._device = joinables[0].join_device
        if any(resolved(each.join_process_group) is not self._group for each in joinables):
            raise ValueError("Using join context manager with multiple process groups")
        for number, joinable in enumerate(joinables):
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, number == 0)

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._enable or kind is not None:
            return
        last, iterations = True, 0
        while self._left():
            last = False
            iterations += 1
            if iterations == 1000:
                warnings.warn(
                    "Detected uneven input skew of 1000 iterations: another process has that many inputs more",
                    stacklevel=2,
                )
            if self._throw:
                self._tell_end()
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(last)

    def _left(self) -> int:
        """How many processes have inputs."""
        count = _functions.zeros([1], dtype=_C.float32, device=self._device)
        collectives.all_reduce(count, group=self._group)
        return int(count.item())

    def _tell_end(self) -> None:
        ended = _functions.ones([1], dtype=_C.float32, device=self._device)
        collectives.all_reduce(ended, group=self._group)
        raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Says that this process has inputs; called by a joinable before the collectives of an iteration."""
        config = getattr(joinable, "_join_config", None)
        if config is None:
            raise AssertionError(
                f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor"
            )
        if not config.is_first_joinable or not config.enable:
            return None
        group, device = resolved(joinable.join_process_group), joinable.join_device
        here = _functions.ones([1], dtype=_C.float32, device=device)
        work: Work | None = collectives.all_reduce(here, group=group, async_op=True)
        if config.throw_on_early_termination:
            ended = _functions.zeros([1], dtype=_C.float32, device=device)
            collectives.all_reduce(ended, group=group)
            if ended.item():
                raise RuntimeError(
                    "Detected at least one rank that exhausted inputs. Throwing across all ranks."
                )
        return work
