"""Optimizers that update all parameters of a group in one call: tables of options and of state, and a function.

The function is the mathematics, with the signature that PyTorch's functional form has. ``@step_of`` makes it the step
of a class: its arguments are the state of the parameters, as lists, and the options of the group.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar, TypeVar

import mindtorch_v2 as torch

from .._devices import registry
from ._lists import Tensors, sparse_places
from ._options import DeclaredOptimizer, Option
from .optimizer import _use_grad_for_differentiable, counter, loss_of, trainable, zeros_beside

_any_is_captured = torch._C._DeviceGraph.any_is_captured
Group = dict[str, Any]
Start = Callable[[torch.Tensor, Group], torch.Tensor]
Function = TypeVar("Function", bound=Callable[..., None])

# What PyTorch's functions are told, and ours see for themselves.
_SEEN = {"has_complex": False, "has_sparse_grad": False, "foreach": None}
# What a GradScaler leaves on the optimizer whose step it is about to call.
_SCALING = ("grad_scale", "found_inf")


@dataclass(frozen=True)
class Kept:
    """One entry of a parameter's state. ``argument`` is what the function calls the list of them."""

    argument: str
    start: Start
    is_number: bool = False
    when: str | None = None  # the option without which there is none


def zeros(argument: str, when: str | None = None) -> Kept:
    """An entry that begins as zeros beside the parameter."""
    return Kept(argument, lambda param, group: zeros_beside(param), when=when)


def scalar(argument: str, first: Callable[[Group], float] = lambda group: 0.0) -> Kept:
    """An entry that is one number. Files from before 1.12 have it as a plain one."""
    return Kept(argument, lambda param, group: counter(param, group, first(group)), is_number=True)


class ListOptimizer(DeclaredOptimizer):
    """A subclass has a table of options, and ``_kept``: a table of what is kept for each parameter."""

    _kept: ClassVar[dict[str, Kept]] = {}
    _function: ClassVar[_Call]
    _takes_sparse: ClassVar[bool] = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        numbers = [name for name, kept in self._kept.items() if kept.is_number]
        for group in self.param_groups:
            for param in group["params"]:
                entries = self.state.get(param) or {}
                for name in numbers if entries else ():
                    if not isinstance(entries[name], torch.Tensor):
                        entries[name] = counter(param, group, float(entries[name]))

    def _new_state(self, param: torch.Tensor, group: Group) -> dict[str, Any]:
        """What is kept for a parameter, before its first step."""
        return {
            name: kept.start(param, group)
            for name, kept in self._kept.items()
            if kept.when is None or group[kept.when]
        }

    def _states(self, params: Tensors, group: Group) -> list[Any]:
        """The state of each parameter, made where there is none yet."""
        states = list(map(self.state.get, params))
        if not all(states):
            for place, param in enumerate(params):
                if not states[place]:
                    self.state[param] = states[place] = self._new_state(param, group)
        return states

    def _columns(self, states: list[Any], group: Group) -> dict[str, list[Any]]:
        """The lists that the function takes: one entry of the state of each parameter."""
        return {
            kept.argument: [state[name] for state in states] if kept.when is None or group[kept.when] else []
            for name, kept in self._kept.items()
        }

    def _update(self, params: Tensors, gradients: Tensors, states: list[Any], group: Group) -> None:
        self._function(self, params, gradients, group, self._columns(states, group))

    def _refuse_sparse(self) -> None:
        name = type(self).__name__
        hint = ", please consider SparseAdam instead" if name == "Adam" else ""
        raise RuntimeError(f"{name} does not support sparse gradients{hint}")

    def _check_captured(self) -> None:
        """A graph repeats what it was given: counters must be on the device, or every replay were the same step."""
        found = registry.available()
        if found is None or not found.module.is_current_stream_capturing():
            return
        if not all(group.get("capturable", True) for group in self.param_groups):
            raise RuntimeError(
                f"Attempting {found.title} graph capture of step() for an instance of {type(self).__name__} but "
                "param_groups' capturable is False."
            )

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        if _any_is_captured():
            self._check_captured()
        loss = loss_of(closure)
        for group in self.param_groups:
            params, gradients = trainable(group)
            if not params:
                continue
            if not self._takes_sparse and sparse_places(gradients):
                self._refuse_sparse()
            self._update(params, gradients, self._states(params, group), group)
        return loss


def step_of(cls: type[ListOptimizer], *columns: str) -> Callable[[Function], Function]:
    """Makes a function the step of ``cls``. ``columns`` are lists it takes besides those of ``_kept``."""

    def decorate(function: Function) -> Function:
        lists = {kept.argument for kept in cls._kept.values()}.union(columns)
        cls._function = _Call.of(function, lists, cls._options)
        return function

    return decorate


@dataclass(frozen=True)
class _Call:
    """Where each argument of a function comes from. Worked out once, since a step must cost little."""

    namespace: dict[str, Any]
    name: str
    options: tuple[str, ...]
    values: Callable[[Group], tuple[Any, ...]]
    parts: tuple[tuple[str, str, int], ...]
    scaling: tuple[str, ...]
    constants: dict[str, Any]

    @classmethod
    def of(cls, function: Any, lists: set[str], options: dict[str, Option]) -> _Call:
        parts = {part: (row.name, i) for row in options.values() for i, part in enumerate(row.parts)}
        names = [name for name in list(inspect.signature(function).parameters)[2:] if name not in lists]
        known = {*options, *parts, *_SCALING, *_SEEN}
        if unknown := [name for name in names if name not in known]:
            raise TypeError(f"{function.__name__}() takes {unknown}, which are neither options nor state")
        own = tuple(name for name in names if name in options)
        return cls(
            function.__globals__,
            function.__name__,
            own,
            itemgetter(*own),
            tuple((name, *parts[name]) for name in names if name in parts),
            tuple(name for name in names if name in _SCALING),
            {name: _SEEN[name] for name in names if name in _SEEN and name not in options},
        )

    def __call__(
        self, optimizer: Any, params: Tensors, gradients: Tensors, group: Group, columns: dict[str, list[Any]]
    ) -> None:
        arguments = {**columns, **self.constants}
        arguments.update(zip(self.options, self.values(group), strict=True))
        for name, option, index in self.parts:
            arguments[name] = group[option][index]
        for name in self.scaling:
            arguments[name] = getattr(optimizer, name, None)
        # Looked up when called, so that programs may replace it.
        self.namespace[self.name](params, gradients, **arguments)
