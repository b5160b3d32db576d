"""What the graph keeps, and hooks on it."""

from __future__ import annotations

import threading
from abc import ABC
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from .. import _C
from .._C import Tensor
from .._devices import registry
from .function import _FunctionBase

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",  # noqa: F822 - __getattr__ has it
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class Node(ABC):  # noqa: B024 - a name for two kinds of nodes, which derive from others
    """A node of the graph: what ``grad_fn`` of a tensor is."""

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        return True if cls is Node and issubclass(other, (_C.Node, _FunctionBase)) else NotImplemented


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor enters the graph: a node, and which of its inputs."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that leads to the gradient of `tensor`."""
    node = _C._gradient_node(tensor)
    # The context of a Function does not keep its node.
    token = node._node() if isinstance(node, _FunctionBase) else None
    return GradientEdge(node, tensor.output_nr, token)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Tells autograd that `tensor` was written to by something it does not see."""
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _C._increment_version(one)


class saved_tensors_hooks:
    """Inside, tensors saved for backward are kept as ``pack_hook`` returns them and come back through
    ``unpack_hook``."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _C._push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exception: object) -> None:
        _C._pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keeps saved tensors in host memory until backward needs them on their device again."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            if not (pin_memory and registry.accelerator().module.is_available()):
                return tensor.device, tensor.cpu()
            packed = tensor.detach().cpu().pin_memory()
            return tensor.device, packed

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, saved_tensors_hooks raises ``error_message``."""
    previous = _C._disable_saved_tensors_hooks(error_message)
    try:
        yield
    finally:
        _C._disable_saved_tensors_hooks(previous)


class _Handles:
    """Removes several hooks at once."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self._handles = tuple(handles)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor | GradientEdge], fn: Callable[..., None], *, mode: str = "all"
) -> _Handles:
    """Calls ``fn`` in each pass with the gradients of all ``tensors`` once they are there ("all"; None for those that
    the pass does not reach), or with the first of them ("any")."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    passes: dict[
        int, tuple[list[int], list[Tensor | None]]
    ] = {}  # by number: how many are expected, what came
    nodes = [_C._gradient_node(t) if isinstance(t, Tensor) else t.node for t in tensors]
    done: set[int] = set()

    def hook_of(index: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            number = _C._current_graph_task_id()
            if mode == "any":
                with lock:
                    first = number not in done
                    done.clear()
                    done.add(number)
                if first:
                    fn(grad)
                return
            with lock:
                if number not in passes:
                    passes[number] = ([sum(map(_C._node_runs, nodes))], [None] * len(tensors))
                left, grads = passes[number]
                grads[index] = grad
                left[0] -= 1
                ready = left[0] == 0
                if ready:
                    del passes[number]
            if ready:
                fn(grads)

        return hook

    def register(index: int, tensor: Tensor | GradientEdge) -> Any:
        if isinstance(tensor, Tensor):
            return tensor.register_hook(hook_of(index))
        hook = hook_of(index)
        return tensor.node.register_prehook(lambda grads: hook(grads[tensor.output_nr]))

    return _Handles([register(i, t) for i, t in enumerate(tensors)])


def __getattr__(name: str) -> Any:
    if name == "_engine_run_backward":
        return getattr(import_module(".variable", __package__), name)
    if name == "allow_mutation_on_saved_tensors":  # it needs modes, which stand above
        return getattr(import_module("..utils._saved_mutation", __package__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
