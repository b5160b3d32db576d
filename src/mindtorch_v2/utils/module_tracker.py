"""``torch.utils.module_tracker``: which modules run, forward and backward."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any, Self

from .. import nn
from ..autograd.graph import register_multi_grad_hook
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Inside (a context manager), ``parents`` has the paths of the modules that run at the moment, and "Global".

    In the backward pass a module runs from the gradients of its results to those of its arguments.
    """

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._names: weakref.WeakKeyDictionary[nn.Module, str] = weakref.WeakKeyDictionary()
        self._seen: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        self._handles: list[Any] = []
        self._has_backward = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass runs."""
        return self._has_backward

    def __enter__(self) -> Self:
        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after, always_call=True),
        ]
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _name(self, module: nn.Module) -> str:
        if module not in self._names:
            self._names[module] = type(module).__name__
        name = self._names[module]
        if module not in self._seen:
            for child_name, child in module.named_children():
                self._names[child] = f"{name}.{child_name}"
                self._name(child)
            self._seen.add(module)
        return name

    def _begin(self, name: str, backward: bool) -> None:
        if backward:
            self._has_backward = True
        elif self._has_backward:  # a new forward pass: what the last backward pass left open is over
            self.parents, self._has_backward = {"Global"}, False
        if name in self.parents and not backward:
            warnings.warn(
                "The module hierarchy tracking maybe be messed up. Please file a bug to PyTorch, if it is the case.",
                stacklevel=2,
            )
        self.parents.add(name)

    def _end(self, name: str) -> None:
        self.parents.discard(name)

    def _on_gradients(self, values: Any, run: Callable[[], None]) -> None:
        from .._C import Tensor

        tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, lambda grads: run()))

    def _before(self, module: nn.Module, args: Any) -> None:
        name = self._name(module)
        self._begin(name, False)
        self._on_gradients(args, lambda: self._end(name))

    def _after(self, module: nn.Module, args: Any, result: Any) -> None:
        name = self._name(module)
        self._end(name)
        self._on_gradients(result, lambda: self._begin(name, True))
