"""Hooks on the gradients that enter and leave a module.

The tensors that go into a module, and those that come out, pass through a node of the graph that does nothing.
When backward reaches the node at the output, the module's ``grad_output`` is known; when it reaches the one at
the input, ``grad_input`` is, and the hooks run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from ...autograd.function import Function

Gradients = tuple[Tensor | None, ...]


class BackwardHookFunction(Function):
    """Hands its tensors on; gives their gradients to a function, and goes on with what that returns."""

    @staticmethod
    def forward(ctx: Any, seen: Callable[[Gradients], Gradients], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.seen = seen
        ctx.set_materialize_grads(False)
        return tuple(tensor.detach() for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        return (None, *ctx.seen(gradients))


class ModuleGradients:
    """One call of one module: collects its gradients and runs its backward hooks."""

    def __init__(self, module: Any, hooks: Sequence[Any], pre_hooks: Sequence[Any]) -> None:
        self.module = module
        self.hooks = list(hooks)
        self.pre_hooks = list(pre_hooks)
        self.grad_outputs: Gradients | None = None
        self.count = 0  # of the arguments
        self.places: list[int] = []  # which of them have gradients

    @staticmethod
    def _watched(values: tuple[Any, ...]) -> list[int]:
        if not torch.is_grad_enabled():
            return []
        return [i for i, value in enumerate(values) if isinstance(value, Tensor) and value.requires_grad]

    @staticmethod
    def _pass(
        values: tuple[Any, ...], places: list[int], seen: Callable[[Gradients], Gradients]
    ) -> tuple[Any, ...]:
        replaced = list(values)
        for place, tensor in zip(
            places, BackwardHookFunction.apply(seen, *(values[i] for i in places)), strict=True
        ):
            replaced[place] = tensor
        return tuple(replaced)

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.count = len(args)
        self.places = self._watched(args)
        if not self.places or not self.hooks:
            return args
        return self._pass(args, self.places, self._at_input)

    def watch_outputs(self, result: Any) -> Any:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                f"received {type(result)}",
                stacklevel=4,
            )
            return result
        values = result if isinstance(result, tuple) else (result,)
        places = self._watched(values)
        if not places:
            return result
        passed = self._pass(values, places, lambda gradients: self._at_output(gradients, places, len(values)))
        if not isinstance(result, tuple):
            return passed[0]
        # A named tuple stays one.
        return type(result)(*passed) if hasattr(result, "_fields") else passed

    def _at_output(self, gradients: Gradients, places: list[int], count: int) -> Gradients:
        full = _spread(gradients, places, count)
        for hook in self.pre_hooks:
            changed = hook(self.module, full)
            if changed is None:
                continue
            changed = changed if isinstance(changed, tuple) else (changed,)
            if len(changed) != count:
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(changed)}, but expected {count}"
                )
            full = changed
        self.grad_outputs = full
        if self.hooks and not self.places:
            self._without_inputs(full)
        return tuple(full[i] for i in places)

    def _without_inputs(self, grad_outputs: Gradients) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no "
            "inputs require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details.",
            stacklevel=5,
        )
        for hook in self.hooks:
            changed = hook(self.module, (None,) * self.count, grad_outputs)
            values = changed if isinstance(changed, tuple) else (changed,)
            if any(value is not None for value in values):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or "
                    "None for all gradients."
                )
        self.grad_outputs = None

    def _at_input(self, gradients: Gradients) -> Gradients:
        if self.grad_outputs is None:
            # The gradient came past the module's output, so there is no pair to show to the hooks.
            return gradients
        full = _spread(gradients, self.places, self.count)
        for hook in self.hooks:
            changed = hook(self.module, full, self.grad_outputs)
            if changed is None:
                continue
            changed = changed if isinstance(changed, tuple) else (changed,)
            if len(changed) != self.count:
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(changed)}, but expected {self.count}"
                )
            full = changed
        self.grad_outputs = None
        return tuple(full[i] for i in self.places)


def _spread(gradients: Gradients, places: list[int], count: int) -> Gradients:
    full: list[Tensor | None] = [None] * count
    for place, gradient in zip(places, gradients, strict=True):
        full[place] = gradient
    return tuple(full)


def hook_last_node(module: Any, hooks: Sequence[Any], args: Any, result: Any) -> None:
    """The older backward hooks: they see the gradients of the node that made the output, no more."""
    value = result
    while not isinstance(value, Tensor):
        if isinstance(value, dict):
            value = next(v for v in value.values() if isinstance(v, Tensor))
        else:
            value = value[0]
    node = value.grad_fn
    if node is None:
        return
    for hook in hooks:

        def called(grad_inputs: Any, grad_outputs: Any, hook: Any = hook) -> Any:
            changed = hook(module, grad_inputs, grad_outputs)
            if changed is not None and isinstance(grad_inputs, tuple):
                got = len(changed) if isinstance(changed, tuple) else 1
                if got != len(grad_inputs):
                    raise RuntimeError(
                        f"hook '{getattr(hook, '__name__', hook)}' has returned an incorrect number of values "
                        f"(got {got}, but expected {len(grad_inputs)})"
                    )
            return changed

        node.register_hook(called)
    _warn_of_missing(args, result, node)


def _tensors(value: Any) -> tuple[Any, ...] | None:
    """A tensor or a tuple of tensors as a tuple; None for anything else."""
    values = value if isinstance(value, tuple) else (value,)
    return values if all(isinstance(v, Tensor) for v in values) else None


def _warn_of_missing(args: Any, result: Any, node: Any) -> None:
    """Says what the older hooks will not see."""
    advice = " Please use register_full_backward_hook to get the documented behavior."
    removed = "is deprecated and will be removed in future versions. This hook will be missing some "
    outputs, inputs = _tensors(result), _tensors(args)
    if outputs is None or inputs is None:
        does, what = ("return", "output") if outputs is None else ("take as input", "input")
        message = (
            f"Using non-full backward hooks on a Module that does not {does} a single Tensor or a tuple of "
            f"Tensors {removed}of the grad_{what}.{advice}"
        )
    elif {output.grad_fn for output in outputs if output.grad_fn is not None} != {node}:
        message = (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes "
            f"{removed}grad_output.{advice}"
        )
    else:
        own = {value.grad_fn for value in inputs if value.grad_fn is not None}
        before = {following for following, _ in node.next_functions if following is not None}
        if own == before:
            return
        message = (
            "Using a non-full backward hook when the forward contains multiple autograd Nodes "
            f"{removed}grad_input.{advice}"
        )
    warnings.warn(message, FutureWarning, stacklevel=5)
