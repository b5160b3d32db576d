"""Parameters and buffers without a shape.

Note [Why these are loaded late]: a subclass of Tensor that overrides functions makes every public function ask
for overrides from then on. Programs without lazy modules should not pay for that, so `nn.parameter` loads this
file when one of its names is asked for.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import mindtorch_v2 as torch

from .._devices import registry
from ._parameter import Parameter

__all__ = ["UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin"]

# What one may ask an uninitialized tensor: where it is, its dtype, and to move it.
_WITHOUT_SHAPE = {
    "__get__", "__set__", "__hash__", "size", "copy_", "is_complex", "is_floating_point", "half", "float",
    "double", "char", "short", "int", "long", "cuda", "cpu", "to", "get_device", "bfloat16", "type",
    "detach", "requires_grad_",
}  # fmt: skip


class UninitializedTensorMixin:
    """A tensor without a shape: it gets one, and its class, from ``materialize``."""

    _uninitialized: ClassVar[bool] = True
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

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            kind: Any = type(self)
            memo[id(self)] = kind(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in _WITHOUT_SHAPE or name in registry.accelerators:
            with torch._C.DisableTorchFunctionSubclass():  # type: ignore[operator]
                return func(*args, **(kwargs or {}))
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            "`LazyModule` or explicitly manipulating `torch.nn.parameter."
            f"{cls.__name__}` objects. When using LazyModules Call `forward` with a dummy batch to initialize "
            "the parameters before calling torch functions"
        )


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape the first input decides."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Self:
        data = torch.empty(0, device=device, dtype=dtype)
        made: Self = torch.Tensor._make_subclass(cls, data, requires_grad)
        return made


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

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # A module replaces its buffers by what moving them gives, which must stay open as well.
        result = super().__torch_function__(func, types, args, kwargs)
        return result.as_subclass(cls) if type(result) is torch.Tensor else result


for _kind in (UninitializedBuffer, UninitializedParameter, UninitializedTensorMixin):
    _kind.__module__ = Parameter.__module__  # where programs and files know them
del _kind
