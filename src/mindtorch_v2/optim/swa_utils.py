"""Averages of a model's parameters over training."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import mindtorch_v2 as torch

from .._C import _functions
from ..nn import Module
from .lr_scheduler import LRScheduler, _warn_get_lr_called_within_step
from .lr_scheduler._base import per_group
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """A function that moves a list of averages towards a list of values."""
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        if torch.is_floating_point(ema_param_list[0]) or torch.is_complex(ema_param_list[0]):
            _functions._foreach_lerp_(ema_param_list, current_param_list, 1 - decay)
        else:  # integers, which lerp does not take
            for average, current in zip(ema_param_list, current_param_list, strict=True):
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """A function that takes a list of values into a list of equally weighted averages."""

    @torch.no_grad()
    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        if torch.is_floating_point(averaged_param_list[0]) or torch.is_complex(averaged_param_list[0]):
            _functions._foreach_lerp_(averaged_param_list, current_param_list, float(1 / (num_averaged + 1)))
        else:
            differences = _functions._foreach_sub(current_param_list, averaged_param_list)
            for average, difference in zip(averaged_param_list, differences, strict=True):
                average.add_((difference / (num_averaged + 1)).to(average.dtype))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., torch.Tensor]:
    """A function that gives the average moved towards a value."""
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param: torch.Tensor, current_param: torch.Tensor, num_averaged: Any) -> torch.Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., torch.Tensor]:
    """A function that gives the equally weighted average with one more value."""

    @torch.no_grad()
    def swa_update(averaged_param: torch.Tensor, current_param: torch.Tensor, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of ``model`` whose parameters are averages of those it was updated with.

    ``avg_fn(average, value, count)`` gives the new average, ``multi_avg_fn`` the same in place over lists;
    ``use_buffers`` averages buffers too, which are copied otherwise.
    """

    n_averaged: torch.Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., torch.Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _averaged(self, module: Module) -> Iterable[torch.Tensor]:
        return (
            itertools.chain(module.parameters(), module.buffers())
            if self.use_buffers
            else module.parameters()
        )

    def update_parameters(self, model: Module) -> None:
        """Takes the parameters of ``model`` into the averages."""
        averages = [average.detach() for average in self._averaged(self.module)]
        values = [
            value.detach().to(average.device)
            for average, value in zip(averages, self._averaged(model), strict=True)
        ]
        if self.n_averaged == 0:
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        elif self.avg_fn is not None:
            count = self.n_averaged
            for average, value in zip(averages, values, strict=True):
                average.copy_(self.avg_fn(average, value, count.to(average.device)))
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            for where in _by_device_and_dtype(averages):
                update(
                    [averages[i] for i in where],
                    [values[i] for i in where],
                    self.n_averaged.to(averages[where[0]].device),
                )
        if not self.use_buffers:
            for average, value in zip(self.module.buffers(), model.buffers(), strict=True):
                average.detach().copy_(value.detach().to(average.device))
        self.n_averaged += 1


def _by_device_and_dtype(tensors: list[torch.Tensor]) -> list[list[int]]:
    found: dict[Any, list[int]] = {}
    for position, tensor in enumerate(tensors):
        found.setdefault((tensor.device, tensor.dtype), []).append(position)
    return list(found.values())


@torch.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the statistics of batch normalisations anew, by one pass over ``loader``."""
    from ..nn.modules.batchnorm import _BatchNorm

    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # equally weighted
    for batch in loader:
        values = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(values.to(device) if device is not None else values)
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Goes to ``swa_lr`` in ``anneal_epochs`` epochs, and stays there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _anneal(self, t: float) -> float:
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        _warn_get_lr_called_within_step(self)
        step = self._step_count - 1
        span = max(1, self.anneal_epochs)
        before = self._anneal(max(0, min(1, (step - 1) / span)))
        now = self._anneal(max(0, min(1, step / span)))
        rates = []
        for group in self.optimizer.param_groups:
            rate, goal = group["lr"], group["swa_lr"]
            # Where the way began, from where it is now.
            start = goal if before == 1 else (rate - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
