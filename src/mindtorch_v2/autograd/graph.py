"""What the graph keeps, and hooks on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import _C
from .._C import Node, Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor enters the graph: a node, and which of its inputs."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that leads to the gradient of `tensor`."""
    return GradientEdge(_C._gradient_node(tensor), tensor.output_nr)


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
            if not pin_memory:
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
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> _Handles:
    """Calls ``fn`` with the gradients of all ``tensors`` once they are there ("all"), or with the first ("any")."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    grads: list[Tensor | None] = [None] * len(tensors)
    state = {"seen": 0}

    def hook_of(index: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            with lock:
                if mode == "all":
                    grads[index] = grad
                state["seen"] += 1
                ready = state["seen"] == (len(tensors) if mode == "all" else 1)
                if state["seen"] == len(tensors):
                    state["seen"] = 0
                found = list(grads)
                if ready and mode == "all":
                    grads[:] = [None] * len(tensors)
            if ready:
                fn(found) if mode == "all" else fn(grad)

        return hook

    return _Handles([t.register_hook(hook_of(i)) for i, t in enumerate(tensors)])
