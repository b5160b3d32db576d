"""How tensors are copied and pickled."""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Callable
from typing import Any

from .. import _C, _utils, overrides
from .._C import Tensor
from .._sparse.parts import all_parts, layout_of
from ._method import method


def _rebuild_from_type_v2(function: Callable[..., Tensor], kind: type, args: Any, state: Any) -> Any:
    """Rebuilds a tensor of a subclass, or with attributes of its own."""
    made: Any = function(*args)
    if type(made) is not kind:
        made = made.as_subclass(kind)
    if isinstance(state, dict) and state.get("_is_buffer"):
        return _utils.of_modules["Buffer"](made, persistent=bool(state.get("persistent")))
    if type(made).__setstate__ is not Tensor.__setstate__:
        made.__setstate__(state)
        return made
    return _utils._set_obj_state(made, state)


_rebuild_from_type_v2.__module__ = __name__.rpartition(".")[0]  # where files know it


@method
def __reduce_ex__(self: Tensor, protocol: int) -> Any:
    function, args = _utils._parts(self)
    if _utils.is_saved_as_real(self):
        return function, args
    state = _utils._get_obj_state(self)
    if type(self) is Tensor and not state:
        return function, args
    return _rebuild_from_type_v2, (function, type(self), args, state)


@method
def __deepcopy__(self: Tensor, memo: dict[Any, Any]) -> Tensor:
    if overrides.has_torch_function_unary(self):
        return overrides.handle_torch_function(Tensor.__deepcopy__, (self,), self, memo)  # type: ignore[no-any-return]
    known: Tensor | None = memo.get(id(self))
    if known is not None:
        return known
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
            "at the moment.  If you were attempting to deepcopy a module, this may be because of a "
            "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
        )
    if layout_of(self) != "strided":
        return _copy_of_sparse(self, memo)
    if type(self) is not Tensor and (_utils.takes_operators_over(self) or self.is_meta):
        made = self.clone()  # by its own rules: it may have no memory of its own
        if type(made) is not type(self):
            raise RuntimeError(
                "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types "
                f"that properly implement clone(): {type(self)} gave {type(made)}"
            )
        memo[id(self)] = made
        _copy_attributes(made, self, memo)
        return made.detach().requires_grad_(True) if self.requires_grad and not made.is_leaf else made
    # Tensors that share a storage share its copy.
    key = self._storage_handle()._cdata
    storage = memo.get(("storage", key))
    if storage is None:
        storage = self.untyped_storage().clone()
        memo["storage", key] = storage
    made = _C.tensor_from_storage(
        storage._handle, self.dtype, self.storage_offset(), list(self.size()), list(self.stride())
    )
    return _as_copy(made, self, memo)


def _as_copy(made: Tensor, tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
    """What was made of a tensor's values, with everything else that the tensor has."""
    if type(tensor) is not Tensor:
        made = made.as_subclass(type(tensor))
    made.requires_grad_(tensor.requires_grad)
    if tensor.grad is not None:
        made.grad = tensor.grad.__deepcopy__(memo)
    memo[id(tensor)] = made
    _copy_attributes(made, tensor, memo)
    return made


def _copy_attributes(made: Tensor, tensor: Tensor, memo: dict[Any, Any]) -> None:
    for name in copyreg._slotnames(type(tensor)):  # type: ignore[attr-defined]
        if hasattr(tensor, name):
            setattr(made, name, copy.deepcopy(getattr(tensor, name), memo))
    made.__dict__.update(copy.deepcopy(tensor.__dict__, memo))


def _copy_of_sparse(tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
    layout, indices, plain, values, coalesced = all_parts(tensor)
    indices, plain, values = copy.deepcopy((indices, plain, values), memo)
    made = _C._sparse.make(layout, list(tensor.shape), indices, plain, values, coalesced)
    return _as_copy(made, tensor, memo)


# As a name of the package, which is how PyTorch's files have them.
copyreg.pickle(_C.dtype, lambda dtype: dtype.name)
