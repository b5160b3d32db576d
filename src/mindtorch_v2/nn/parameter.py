"""Tensors that a module owns."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import mindtorch_v2 as torch

from .. import _utils


class Parameter(torch.Tensor):
    """A tensor that a module trains: assigned to a module's attribute, it joins ``module.parameters()``."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __new__(cls, data: torch.Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = torch.empty(0)
        elif not isinstance(data, torch.Tensor):
            raise TypeError(f"Parameter: expected a Tensor, got {type(data).__name__}; use torch.tensor(...)")
        made: Parameter = torch.Tensor._make_subclass(cls, data.detach(), requires_grad)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        known: Parameter | None = memo.get(id(self))
        if known is not None:
            return known
        data = self.detach().clone(memory_format=torch.preserve_format)
        result = type(self)(data, self.requires_grad)
        memo[id(self)] = result
        return result

    def __repr__(self, **options: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(**options)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # The empty dictionary is where PyTorch's format keeps hooks; they are never saved.
        args: tuple[Any, ...] = (self.data, self.requires_grad, OrderedDict())
        state = _utils._get_obj_state(self)
        if not state:
            return _utils._rebuild_parameter, args
        return _utils._rebuild_parameter_with_state, (*args, state)


class Buffer(torch.Tensor):
    """A tensor that belongs to a module's state but is not trained; assigning it registers a buffer."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    persistent: bool

    def __new__(cls, data: torch.Tensor | None = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = torch.empty(0)
        made: Buffer = torch.Tensor._make_subclass(cls, data.detach(), data.requires_grad)
        made.persistent = persistent
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        known: Buffer | None = memo.get(id(self))
        if known is not None:
            return known
        result = type(self)(
            self.detach().clone(memory_format=torch.preserve_format), persistent=self.persistent
        )
        result.requires_grad_(self.requires_grad)
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol: Any) -> Any:
        # In a file a buffer is a tensor with these attributes, as PyTorch's buffers are.
        function, args = _utils._parts(self)
        state = {"persistent": self.persistent, "_is_buffer": True}
        return torch._tensor._rebuild_from_type_v2, (function, torch.Tensor, args, state)
