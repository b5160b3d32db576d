"""Attributes and methods of Tensor that few programs use: names of old, and what other libraries look into."""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _C
from .._C import Tensor
from ._method import method

# ---- hooks and history --------------------------------------------------------------------------------


def _hooks(self: Tensor, afterwards: bool) -> OrderedDict[int, Callable[..., Any]] | None:
    found = OrderedDict((handle.id, hook) for handle, hook in self._gradient_hooks(afterwards))
    return found or None


def _get_backward_hooks(self: Tensor) -> Mapping[int, Callable[..., Any]] | None:
    """The dictionary that was assigned; else the hooks of register_hook by number, as they are now, or None."""
    given: Mapping[int, Callable[..., Any]] | None = vars(self).get("_hooks_given")
    return _hooks(self, False) if given is None else given


def _set_backward_hooks(self: Tensor, hooks: Mapping[int, Callable[..., Any]] | None) -> None:
    """Hooks of a dictionary, which the program may change afterwards, instead of those there were."""

    def call_all(grad: Tensor) -> Tensor:
        for hook in tuple((hooks or {}).values()):
            changed = hook(grad)
            grad = grad if changed is None else changed
        return grad

    for handle, _ in self._gradient_hooks(False):
        handle.remove()
    vars(self)["_hooks_given"] = hooks
    if hooks is not None and self.requires_grad:
        self.register_hook(call_all)


def _get_post_accumulate_grad_hooks(self: Tensor) -> OrderedDict[int, Callable[..., Any]] | None:
    """The hooks of register_post_accumulate_grad_hook by number, as they are now; None without any."""
    return _hooks(self, True) if self.is_leaf else None


def _get_grad_fn(self: Tensor) -> Any:
    """`grad_fn`."""
    return self.grad_fn


def _set_grad_fn(self: Tensor, node: None) -> None:
    if node is not None:
        raise RuntimeError("_grad_fn can be only set to None")
    self.detach_()


def _get_grad_dtype(self: Tensor) -> _C.dtype:
    """The dtype of its gradient: its own."""
    return self.dtype


def _set_grad_dtype(self: Tensor, dtype: _C.dtype | None) -> None:
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if dtype is not self.dtype:
        raise NotImplementedError(
            f"grad_dtype: gradients have the dtype of their tensor here, {self.dtype}, but got {dtype}. Convert the "
            "gradient in a hook of register_post_accumulate_grad_hook"
        )


def _get_name(self: Tensor) -> None:
    """Tensors have no names."""
    return None


def _get_volatile(self: Tensor) -> bool:
    """False. Of old; use torch.no_grad()."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
    return False


def _set_volatile(self: Tensor, value: Any = None) -> None:
    message = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
    warnings.warn(message, stacklevel=2)


def _refusing(message: str) -> Callable[[Tensor], None]:
    def refuse(self: Tensor) -> None:
        raise RuntimeError(message)

    return refuse


def _get_cuda_array_interface(self: Tensor) -> Any:
    """Raises AttributeError: no tensor is on such a device."""
    raise AttributeError(
        f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required use "
        "tensor.cuda() to copy tensor to device memory."
    )


_PROPERTIES: dict[str, property] = {
    "_backward_hooks": property(
        _get_backward_hooks, _set_backward_hooks, _refusing("Deletion of _backwards_hooks not allowed!")
    ),
    "_grad_fn": property(
        _get_grad_fn, _set_grad_fn, _refusing("Deletion of _grad_fn not allowed. Detach tensor instead!")
    ),
    "_post_accumulate_grad_hooks": property(_get_post_accumulate_grad_hooks),
    "grad_dtype": property(_get_grad_dtype, _set_grad_dtype),
    "name": property(_get_name),
    "volatile": property(_get_volatile, _set_volatile, _set_volatile),
    "__cuda_array_interface__": property(_get_cuda_array_interface),
}
for _name, _property in _PROPERTIES.items():
    setattr(Tensor, _name, _property)


# ---- methods ------------------------------------------------------------------------------------------


@method
def __long__(self: Tensor) -> int:
    """int(self), by Python 2's name."""
    return int(self)


@method
def __nonzero__(self: Tensor) -> bool:
    """bool(self), by Python 2's name."""
    return bool(self)


@method
def __setstate__(self: Tensor, state: Any) -> None:
    """What pickles of old have: the window on a storage, or data and the settings of autograd."""
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if len(state) == 4:
        self.set_(*state)
        return
    if len(state) == 5:
        self.data = state[0]
        state = (state[3], state[4], state[2])
    self.requires_grad, _, self._backward_hooks = state


@method
def _clear_non_serializable_cached_data(self: Tensor) -> None:
    """Forgets what is remembered and cannot be saved: nothing here."""


@method
def index(self: Tensor, positions: int | Sequence[Any], dims: Any) -> Tensor:
    """Indexes the dimensions at `positions` by `dims`, one each; a tuple among the positions stands for dimensions
    that are joined into one first."""
    if isinstance(positions, int):
        positions, dims = (positions,), (dims,)
    if len(positions) != len(dims):
        raise ValueError(f"index(): wanted as many indices as positions ({len(positions)}), got {len(dims)}")
    depth = self.dim()
    groups = [[p % depth for p in (each if isinstance(each, tuple) else (each,))] for each in positions]
    used = [p for group in groups for p in group]
    if len(set(used)) != len(used):
        raise ValueError(f"index(): a dimension is indexed twice: positions {list(positions)}")
    order: list[list[int]] = []
    for position in range(depth):
        group = next((g for g in groups if position in g), [position])
        if position == group[0]:
            order.append(group)
    turned = self.permute([p for group in order for p in group])
    joined = turned.reshape([math.prod(self.shape[p] for p in group) for group in order])
    chosen = {group[0]: value for group, value in zip(groups, dims, strict=True)}
    return joined[tuple(chosen.get(group[0], slice(None)) for group in order)]
