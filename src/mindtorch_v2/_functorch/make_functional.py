"""Modules as functions of their parameters: the way of ``functorch`` before ``torch.func.functional_call``."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from .._C import Tensor
from ..func import functional_call, stack_module_state
from ..nn import Module


def _names_of_each(
    named: Iterable[tuple[str, Tensor]],
) -> tuple[tuple[Tensor, ...], tuple[tuple[str, ...], ...]]:
    """The different tensors, and all names that each has in the module."""
    names: dict[Tensor, list[str]] = {}
    for name, tensor in named:
        names.setdefault(tensor, []).append(name)
    return tuple(names), tuple(map(tuple, names.values()))


class _Functional(Module):
    """A module without memory of its own; what it computes with is given with every call."""

    def __init__(self, model: Module, param_names: Any, buffer_names: Any) -> None:
        super().__init__()
        self.stateless_model = copy.deepcopy(model).to("meta")
        self.param_names, self.buffer_names = param_names, buffer_names

    def _call(self, tensors: Sequence[Tensor], names: Any, args: Any, kwargs: Any) -> Any:
        if len(tensors) != len(names):
            raise RuntimeError(
                f"wanted a tensor for each of {len(names)} parameters and buffers, got {len(tensors)}"
            )
        given = {name: tensor for tensor, each in zip(tensors, names, strict=True) for name in each}
        return functional_call(self.stateless_model, given, args, kwargs, tie_weights=False)


class FunctionalModule(_Functional):
    """A module as a function of its parameters and inputs."""

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """The module's result with these parameters."""
        return self._call(params, self.param_names, args, kwargs)


class FunctionalModuleWithBuffers(_Functional):
    """A module as a function of its parameters, buffers and inputs."""

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """The module's result with these parameters and buffers, which it may write to."""
        return self._call([*params, *buffers], [*self.param_names, *self.buffer_names], args, kwargs)


def _parameters(model: Module, plain: bool) -> tuple[tuple[Tensor, ...], tuple[tuple[str, ...], ...]]:
    """Copies of the parameters that train apart from the model, or plain tensors of them."""
    found, names = _names_of_each(model.named_parameters(remove_duplicate=False))
    if plain:
        return tuple(tensor.detach().clone() for tensor in found), names
    return tuple(copy.deepcopy(tensor) for tensor in found), names


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A module without buffers as a function, and its parameters."""
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    params, names = _parameters(model, disable_autograd_tracking)
    return FunctionalModule(model, names, ()), params


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A module as a function, its parameters, and its buffers."""
    params, names = _parameters(model, disable_autograd_tracking)
    found, buffer_names = _names_of_each(model.named_buffers(remove_duplicate=False))
    buffers = tuple(tensor.clone() for tensor in found)
    return FunctionalModuleWithBuffers(model, names, buffer_names), params, buffers


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Several modules of one kind as one function, and their parameters and buffers stacked for vmap."""
    params, buffers = stack_module_state(models, "combine_state_for_ensemble")
    function, _, _ = make_functional_with_buffers(models[0])
    first = tuple(params[names[0]].detach() for names in function.param_names)
    return function, first, tuple(buffers[names[0]] for names in function.buffer_names)
