"""Saved tensors that may be written to (``graph.allow_mutation_on_saved_tensors``)."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._C import Tensor
from ..autograd.grad_mode import no_grad
from ..autograd.graph import saved_tensors_hooks
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_leaves

_on = False


class _Handle:
    """What nodes keep instead of a tensor; the tensor goes when the last of them drops it."""


class _Context:
    """What is saved, and what was copied because it was about to be written to."""

    def __init__(self) -> None:
        self.cloned: weakref.WeakKeyDictionary[_Handle, Tensor] = weakref.WeakKeyDictionary()
        self.original: weakref.WeakKeyDictionary[_Handle, Tensor] = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle: weakref.WeakValueDictionary[Any, _Handle] = weakref.WeakValueDictionary()
        self.by_memory: dict[Any, list[weakref.ref[_Handle]]] = {}

    def clear(self) -> None:
        for table in (self.cloned, self.original, self.tid_to_weakhandle, self.by_memory):
            table.clear()

    def pack(self, tensor: Tensor) -> _Handle:
        memory = _memory(tensor)
        window = (memory, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype)
        handle = self.tid_to_weakhandle.get(window)
        if handle is None:
            handle = self.tid_to_weakhandle[window] = _Handle()
            self.original[handle] = tensor
            self.by_memory.setdefault(memory, []).append(weakref.ref(handle))
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        found = self.cloned.get(handle)
        if found is None:
            found = self.original.get(handle)
        if found is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return found

    def before_write(self, tensor: Tensor) -> None:
        for reference in self.by_memory.pop(_memory(tensor), ()):
            handle = reference()
            if handle is not None and (original := self.original.pop(handle, None)) is not None:
                with no_grad():
                    self.cloned[handle] = original.clone()


def _memory(tensor: Tensor) -> tuple[int, int]:
    """Which bytes, and how often they had been written."""
    return tensor.untyped_storage().data_ptr(), tensor._version


class _CloneBeforeWrite(TorchDispatchMode):
    def __init__(self, context: _Context) -> None:
        super().__init__()
        self._context = context

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        for i, argument in enumerate(func._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                given = kwargs.get(argument.name, args[i] if i < len(args) else None)
                for tensor in tree_leaves(given):
                    if isinstance(tensor, Tensor):
                        self._context.before_write(tensor)
        return func(*args, **kwargs)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Context]:
    """Inside, tensors that are saved for backward may be written to: a copy is made before the first write."""
    global _on
    context = _Context()
    with saved_tensors_hooks(context.pack, context.unpack), _CloneBeforeWrite(context):
        if _on:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        _on = True
        try:
            yield context
        finally:
            _on = False
            context.clear()
