"""Tensors that a module owns, and those whose shape is not known yet."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Self

import mindtorch_v2 as torch

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


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
        attributes = {name: value for name, value in self.__dict__.items() if name != "_backward_hooks"}
        arguments: tuple[Any, ...] = (self.detach(), self.requires_grad, OrderedDict())
        if not attributes:
            return _rebuild_parameter, arguments
        return _rebuild_parameter_with_state, (*arguments, attributes)


class _BufferMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Buffer:
            return isinstance(instance, torch.Tensor) and bool(getattr(instance, "_is_buffer", False))
        return super().__instancecheck__(instance)


class Buffer(torch.Tensor, metaclass=_BufferMeta):
    """A tensor that belongs to a module's state but is not trained; assigning it registers a buffer.

    What it makes is a plain tensor with a mark, so that its operators cost what any tensor's do.
    """

    persistent: bool

    def __new__(cls, data: torch.Tensor | None = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = torch.empty(0)
        made: Any = data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made  # type: ignore[no-any-return]


def _rebuild_parameter(data: torch.Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: torch.Tensor, requires_grad: bool, backward_hooks: Any, state: dict[str, Any]
) -> Parameter:
    parameter = Parameter(data, requires_grad)
    parameter.__dict__.update(state)
    return parameter


# What one may ask an uninitialized tensor: where it is, its dtype, and to move it.
_WITHOUT_SHAPE = {
    "__get__", "__set__", "__hash__", "size", "copy_", "is_complex", "is_floating_point", "half", "float",
    "double", "char", "short", "int", "long", "cuda", "cpu", "npu", "to", "get_device", "bfloat16", "type",
    "detach", "requires_grad_",
}  # fmt: skip


class UninitializedTensorMixin:
    """A tensor without a shape: it gets one, and its class, from ``materialize``."""

    cls_to_become: Any
    data: torch.Tensor
    device: torch.device
    dtype: torch.dtype
    requires_grad: bool

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Becomes an ordinary parameter or buffer of ``shape``, whose values are undefined."""
        self.data = torch.empty(
            shape,
            device=self.data.device if device is None else device,
            dtype=self.data.dtype if dtype is None else dtype,
        )
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
            "`forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
            "parameters before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in _WITHOUT_SHAPE:
            with torch._C.DisableTorchFunctionSubclass():  # type: ignore[operator]
                return func(*args, **(kwargs or {}))
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            "`LazyModule` or explicitly manipulating `torch.nn.parameter."
            f"{cls.__name__}` objects. When using LazyModules Call `forward` with a dummy batch to initialize "
            "the parameters before calling torch functions"
        )


def is_lazy(param: Any) -> bool:
    """Whether ``param`` still has no shape."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape the first input decides."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Self:
        data = torch.empty(0, device=device, dtype=dtype)
        made: Self = torch.Tensor._make_subclass(cls, data, requires_grad)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        known: Self | None = memo.get(id(self))
        if known is not None:
            return known
        result = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        memo[id(self)] = result
        return result


class UninitializedBuffer(UninitializedTensorMixin, torch.Tensor):  # type: ignore[misc]
    """A buffer whose shape the first input decides."""

    cls_to_become = torch.Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Self:
        data = torch.empty(0, device=device, dtype=dtype)
        made: Self = torch.Tensor._make_subclass(cls, data, requires_grad)
        made.persistent = persistent  # type: ignore[attr-defined]
        made._is_buffer = True  # type: ignore[attr-defined]
        return made
