"""Callables whose forward and backward passes are replays of captured graphs, on any device that has graphs.

``torch.<device>.make_graphed_callables`` is :func:`make_graphed_callables` with the device's :class:`Device`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import mindtorch_v2 as torch

from .. import _C
from .._utils import of_modules
from ..utils import _pytree as pytree

Tensors = tuple[Any, ...]


@dataclass(frozen=True)
class Device:
    """What a device brings: its module (streams, waiting) and its classes of graphs."""

    type: str  # as in torch.device
    module: Any
    graph: Callable[[], Any]
    capture: Callable[..., Any]
    pool_handle: Callable[[], Any]


@dataclass
class _Captured:
    """One callable: the tensors that its graphs read and write, and the graphs."""

    call: Callable[..., Any]
    module: Any  # None for a function
    sample: Any
    arguments: Tensors
    parameters: Tensors
    shape: Any = None  # of what it returns, for pytree
    forward: Any = None
    backward: Any = None
    outputs: Tensors = ()
    given_gradients: Tensors = ()  # None where an output needs none
    gradients: Tensors = field(default_factory=tuple)  # None where an input needs none

    @property
    def inputs(self) -> Tensors:
        """What gradients are for: the arguments and the parameters."""
        return (*self.arguments, *self.parameters)

    def run(self) -> list[Any]:
        flat, self.shape = pytree.tree_flatten(self.call(*self.sample))
        return flat

    def differentiate(self, outputs: Sequence[Any], gradients: Sequence[Any], allow_unused: bool) -> Tensors:
        """The gradient of each input, None where it needs none or has no part in the outputs."""
        wanted = [x for x in self.inputs if x.requires_grad]
        pairs = [(o, g) for o, g in zip(outputs, gradients, strict=True) if o.requires_grad]
        if not wanted or not pairs:
            return (None,) * len(self.inputs)
        found = iter(
            torch.autograd.grad(
                [o for o, _ in pairs], wanted, [g for _, g in pairs], allow_unused=allow_unused
            )
        )
        return tuple(next(found) if x.requires_grad else None for x in self.inputs)


def _module_parameters(module: Any) -> Tensors:
    """What a module trains; refuses one that a graph could not stand for."""
    for sub in module.modules():
        if sub._backward_hooks or sub._forward_hooks or sub._forward_pre_hooks:
            raise RuntimeError(
                "Modules must not have hooks registered at the time they are passed. However, registering hooks "
                "on modules after passing them through make_graphed_callables is allowed."
            )
    if any(buffer.requires_grad for buffer in module.buffers()):
        raise RuntimeError(
            "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only parameters may be "
            "trainable. All buffers must have ``requires_grad=False``."
        )
    return tuple(parameter for parameter in module.parameters() if parameter.requires_grad)


def _prepare(call: Any, sample: Any) -> _Captured:
    flat, _ = pytree.tree_flatten(sample)
    if not all(isinstance(argument, torch.Tensor) for argument in flat):
        kinds = sorted({type(a).__name__ for a in flat if not isinstance(a, torch.Tensor)})
        raise RuntimeError(
            "In the beta API, sample_args for each callable must contain only Tensors. Other types are not allowed; "
            f"got {', '.join(kinds)}"
        )
    module = call if isinstance(call, of_modules["Module"]) else None
    parameters = _module_parameters(module) if module is not None else ()
    return _Captured(call, module, sample, tuple(flat), parameters)


def _warm_up(device: Device, captured: list[_Captured], iterations: int, allow_unused: bool) -> None:
    """Runs everything beside the captures to come, so that what is made at the first call is there."""
    device.module.synchronize()
    with device.module.stream(device.module.Stream()):
        for one in captured:
            for _ in range(iterations):
                outputs = one.run()
                one.differentiate(outputs, [torch.empty_like(o) for o in outputs], allow_unused)
    device.module.synchronize()


def _capture(device: Device, captured: list[_Captured], pool: Any, allow_unused: bool) -> None:
    """Forward passes in order, backward passes in the opposite one: each may reuse memory of those before it."""
    for one in captured:
        one.forward = device.graph()
        with device.capture(one.forward, pool=pool):
            one.outputs = tuple(one.run())
    for one in reversed(captured):
        one.given_gradients = tuple(torch.empty_like(o) if o.requires_grad else None for o in one.outputs)
        one.backward = device.graph()
        if not any(o.requires_grad for o in one.outputs):
            one.gradients = (None,) * len(one.inputs)
            continue
        with device.capture(one.backward, pool=pool):
            one.gradients = one.differentiate(one.outputs, one.given_gradients, allow_unused)


def _refill(kept: Sequence[Any], given: Sequence[Any]) -> None:
    for to, value in zip(kept, given, strict=True):
        if to is not None and value is not None and to.data_ptr() != value.data_ptr():
            to.copy_(value)


def _graphed(one: _Captured) -> Callable[..., Any]:
    class Graphed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            _refill(one.arguments, inputs[: len(one.arguments)])
            one.forward.replay()
            return tuple(output.detach() for output in one.outputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *gradients: Any) -> Any:
            _refill(one.given_gradients, gradients)
            one.backward.replay()
            return tuple(None if g is None else g.detach() for g in one.gradients)

    def call(*arguments: Any) -> Any:
        flat, _ = pytree.tree_flatten(arguments)
        if len(flat) != len(one.arguments):
            raise RuntimeError(
                f"the graph was captured with {len(one.arguments)} tensors as arguments, but got {len(flat)}"
            )
        results = Graphed.apply(*flat, *one.parameters)
        return pytree.tree_unflatten(results, one.shape)

    return call


def _in_place_of(one: _Captured) -> Any:
    """A module keeps its forward for the mode (training or not) that was not captured."""
    graphed, module = _graphed(one), one.module
    if module is None:
        return graphed
    plain, training = module.forward, module.training

    def forward(*arguments: Any) -> Any:
        return graphed(*arguments) if module.training == training else plain(*arguments)

    module.forward = forward
    return module


def make_graphed_callables(
    device: Device,
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int,
    allow_unused_input: bool,
    pool: Any,
) -> Any:
    """Graphed versions of functions or modules: each call copies its arguments into those of the capture, and replays.

    Arguments are tensors with the shapes of ``sample_args``. What is returned by a later call overwrites what was
    returned by an earlier one, and the gradients of the parameters likewise.
    """
    if _C._is_autocast_enabled(device.type) and _C.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set `cache_enabled=False`."
        )
    single = not isinstance(callables, tuple)
    captured = [
        _prepare(call, sample)
        for call, sample in zip(
            (callables,) if single else callables, (sample_args,) if single else sample_args, strict=True
        )
    ]
    _warm_up(device, captured, num_warmup_iters, allow_unused_input)
    _capture(device, captured, pool if pool is not None else device.pool_handle(), allow_unused_input)
    made = tuple(_in_place_of(one) for one in captured)
    return made[0] if single else made
