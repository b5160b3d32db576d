"""LRScheduler: what all schedules of learning rates share."""

from __future__ import annotations

import functools
import types
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mindtorch_v2 as torch

from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please "
    "use `scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the "
    "closed form is used instead of the new chainable form, where available. Please open an issue if you are "
    "unable to replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER_PAGE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """Base of all schedules. A subclass defines ``get_lr()``, from ``last_epoch`` and the groups' ``lr``.

    It may also define ``_get_closed_form_lr()``, for jumps to an epoch.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", copied(group["lr"]))
        else:
            for index, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{index}] when resuming scheduler "
                        "with last_epoch >= 0.\n"
                        "This typically happens when:\n"
                        "1. You're trying to resume training from a checkpoint but haven't properly loaded the "
                        "optimizer state\n"
                        "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                    )
        self.base_lrs: list[Any] = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Sets the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step set, one per group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of ``last_epoch``, one per group."""
        raise NotImplementedError(
            f"{type(self).__name__} has no get_lr(): a subclass of LRScheduler defines it"
        )

    def step(self, epoch: int | None = None) -> None:
        """Goes to the next epoch, or to ``epoch``."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. " + _ORDER_PAGE,
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure "
                "to do this will result in PyTorch skipping the first value of the learning rate schedule. "
                + _ORDER_PAGE,
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        with _enable_get_lr_call(self):
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", None)
                rates = self.get_lr() if closed_form is None else closed_form()
        self._set_rates(rates)

    def _set_rates(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", rate)
        self._last_lr: list[Any] = values_of(self.optimizer, "lr")

    def _rates(self) -> list[Any]:
        """The rates as they are now."""
        return [group["lr"] for group in self.optimizer.param_groups]


@contextmanager
def _enable_get_lr_call(o: LRScheduler) -> Iterator[LRScheduler]:
    o._get_lr_called_within_step = True
    try:
        yield o
    finally:
        o._get_lr_called_within_step = False


def _warn_get_lr_called_within_step(lr_scheduler: LRScheduler) -> None:
    """Schedules call it in ``get_lr()``, which is meant for ``step()`` only."""
    if not lr_scheduler._get_lr_called_within_step:
        warnings.warn(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
            UserWarning,
            stacklevel=3,
        )


class _LRScheduler(LRScheduler):
    """The name older programs subclass."""


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def values_of(optimizer: Optimizer, name: str) -> list[Any]:
    return [copied(group[name]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], name: str, value: Any) -> None:
    """An option of a group; a tensor keeps its identity."""
    if isinstance(group[name], torch.Tensor):
        group[name].fill_(value.squeeze() if isinstance(value, torch.Tensor) else value)
    else:
        group[name] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """An argument that is one value, or one for each group."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(groups)]
    if len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {groups}."
        )
    return [copied(entry) for entry in value]


def function_state(function: Any) -> dict[str, Any] | None:
    """What is saved of a function: the attributes of a callable object, nothing of a plain function."""
    return None if isinstance(function, types.FunctionType) else dict(vars(function))


def _watch_steps(optimizer: Optimizer) -> None:
    """Notes on the optimizer that it has made a step."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function: Any = optimizer.step.__func__  # type: ignore[attr-defined]
    reference = weakref.ref(optimizer)

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        watched = reference()
        assert watched is not None, "its own method runs"
        watched._opt_called = True  # type: ignore[attr-defined]
        return function.__get__(watched, type(watched))(*args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]
