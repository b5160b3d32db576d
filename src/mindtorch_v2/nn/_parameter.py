"""Tensors that a module owns: parameters and buffers."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Self

import mindtorch_v2 as torch

from .. import _utils

__all__ = ["Buffer", "Parameter", "is_lazy"]


class _ParameterMeta(type):
    """Lets a tensor of any subclass be a Parameter, when it carries the mark."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Parameter and isinstance(instance, torch.Tensor) and getattr(instance, "_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(torch.Tensor, metaclass=_ParameterMeta):
    """A tensor that a module trains: assigned to a module's attribute, it joins ``module.parameters()``."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = torch.empty(0)
        elif not isinstance(data, torch.Tensor):
            raise TypeError(f"Parameter: expected a Tensor, got {type(data).__name__}; use torch.tensor(...)")
        if type(data) is torch.Tensor or isinstance(data, cls):
            made: Self = torch.Tensor._make_subclass(cls, data.detach(), requires_grad)
            return made
        # A subclass of Tensor keeps its behaviour; the mark makes it a parameter.
        marked = data.detach().requires_grad_(requires_grad)
        if type(marked) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() "
                f"returns an instance of the same type, but return type {type(marked).__name__} was found "
                "instead. To use the type as a Parameter, please correct the detach() semantics defined by its "
                "__torch_dispatch__() implementation."
            )
        marked._is_param = True
        return marked  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        known: Parameter | None = memo.get(id(self))
        if known is not None:
            return known
        data = self.detach().clone(memory_format=torch.preserve_format)
        result = type(self)(data, self.requires_grad)
        result.__dict__.update(self.__dict__)
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


torch._C._set_quiet_type(Parameter)


class _BufferMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Buffer:
            return isinstance(instance, torch.Tensor) and bool(getattr(instance, "_is_buffer", False))
        return super().__instancecheck__(instance)


class Buffer(torch.Tensor, metaclass=_BufferMeta):
    """A tensor that belongs to a module's state but is not trained; assigning it registers a buffer.

    What it makes is a plain tensor with a mark, so that its operators cost what any tensor's do.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl
    persistent: bool

    def __new__(cls, data: torch.Tensor | None = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = torch.empty(0)
        made: Any = data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made  # type: ignore[no-any-return]


def is_lazy(param: Any) -> bool:
    """Whether ``param`` still has no shape."""
    return getattr(type(param), "_uninitialized", False)


for _kind in (Parameter, Buffer, is_lazy):
    _kind.__module__ = f"{__package__}.parameter"  # where programs and files know them
_utils.of_modules.update(Parameter=Parameter, Buffer=Buffer)
