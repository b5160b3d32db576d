"""Functions and methods that say what a tensor is, and rarer methods that change its values from Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import Any

from .. import _C, _functions
from .._C import Tensor
from .._creation import tensor
from .._functions import factors
from .._storage_typed import _typed_class, is_storage
from .methods import same_as_tensor

# Other kinds of device and layout that PyTorch has; no tensor here is one.
_NEVER = (
    "is_ipu", "is_maia", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_vulkan",
    "is_xla", "is_xpu",
)  # fmt: skip


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating-point one."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is a complex one."""
    return input.is_complex()


def is_conj(input: Tensor) -> bool:
    """Whether a conjugation is still to be done: never, because conj() does it at once."""
    return False


def is_neg(input: Tensor) -> bool:
    """Whether a negation is still to be done: never."""
    return False


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def result_type(tensor1: Any, tensor2: Any) -> _C.dtype:
    """The dtype arithmetic between the two gives."""
    if isinstance(tensor1, Tensor):
        return _C._result_type(tensor1, tensor2)
    if isinstance(tensor2, Tensor):
        return _C._result_type(tensor2, tensor1)
    return _C.promote_types(tensor(tensor1).dtype, tensor(tensor2).dtype)


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether size and all elements are the same."""
    return input.shape == other.shape and bool((input == other).all().item())


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere."""
    return bool(_functions.isclose(input, other, rtol, atol, equal_nan).all().item())


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative values."""
    return input.dtype.is_signed


def is_inference(input: Tensor) -> bool:
    """Whether it was made in inference mode."""
    return input.is_inference()


def is_distributed(input: Tensor) -> bool:
    """Whether its values lie in several processes: never."""
    return False


def get_device(input: Tensor) -> int:
    """The index of its device; -1 on the host."""
    return -1 if input.device.index is None else input.device.index


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same window on the same storage."""
    return (
        self.untyped_storage()._cdata == tensor.untyped_storage()._cdata
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


def dim_order(self: Tensor, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """The dimensions from the outermost in memory to the innermost.

    ``ambiguity_check``: True refuses strides that have several orders; a list of memory formats refuses them unless
    they are those of exactly one of the formats.
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, bool) and not all(
        isinstance(f, _C.memory_format) for f in formats or [0]
    ):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = self.stride()
    order = tuple(sorted(range(self.dim()), key=lambda d: (-strides[d], d)))
    if ambiguity_check is False or not _has_several_orders(self, order):
        return order
    if sum(self.is_contiguous(memory_format=each) for each in formats) != 1:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    return order


def _has_several_orders(tensor: Tensor, order: tuple[int, ...]) -> bool:
    sizes, strides = tensor.shape, tensor.stride()
    return any(
        strides[a] == strides[b] or 1 in (sizes[a], sizes[b]) for a, b in zip(order, order[1:], strict=False)
    )


def storage_type(self: Tensor) -> Any:
    """The class of its typed storage."""
    return _typed_class(self.dtype)


def new(self: Tensor, *args: Any, device: Any = None, size: Any = None) -> Tensor:
    """The constructor of old: sizes, or data, in this tensor's dtype."""
    if device is not None and _C.device(device).type != self.device.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {self.device.type} but device type: {_C.device(device).type} "
            "was passed"
        )
    if size is not None:
        return self.new_empty(size, device=device)
    first = args[0] if len(args) == 1 else None
    if isinstance(first, Tensor):
        if device is not None:
            raise RuntimeError("new(): a tensor has a device already; call it without device")
        if first.dtype != self.dtype or first.device != self.device:
            raise TypeError(f"expected {self.type()} (got {first.type()})")
        return same_as_tensor(first)
    if is_storage(first):
        return self.new_empty(0).set_(first)
    if hasattr(first, "__array_interface__") or (
        isinstance(first, (list, tuple)) and type(first).__name__ != "Size"
    ):
        return self.new_tensor(first, device=device)
    return self.new_empty(*(args or (0,)), device=device)


def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Fills the main diagonal; `wrap` starts it anew below in matrices that are taller than wide."""
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    self.as_strided((min(self.shape),), (step,)).fill_(fill_value)
    height, width = self.shape[0], self.shape[1]
    if wrap and self.dim() == 2:
        for top in range(width + 1, height, width + 1):
            self[top:].diagonal().fill_(fill_value)
    return self


def _take_over(tensor: Tensor, values: list[Any]) -> Tensor:
    for value in values:
        if isinstance(value, str):
            raise TypeError(f"must be real number, not {type(value).__name__}")
    return tensor.copy_(tensor.new_tensor(values).reshape(tensor.shape))


def _on_host(tensor: Tensor, name: str, *others: Tensor) -> None:
    if not tensor.is_cpu:
        raise TypeError(f"{name} is only implemented on CPU tensors")
    if any(each.requires_grad for each in (tensor, *others)):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
        )


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replaces each element by what the function makes of it. Slow: it is called for every one."""
    _on_host(self, "apply_")
    values = [callable(value) for value in self.reshape(-1).tolist()]
    return _take_over(self, values)


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replaces each element by a function of it and the other tensor's."""
    _on_host(self, "map_", tensor)
    other = tensor.expand(self.shape).reshape(-1).tolist()
    values = [callable(a, b) for a, b in zip(self.reshape(-1).tolist(), other, strict=True)]
    return _take_over(self, values)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replaces each element by a function of it and two other tensors'."""
    _on_host(self, "map2_", x, y)
    others = [other.expand(self.shape).reshape(-1).tolist() for other in (x, y)]
    values = [callable(*each) for each in zip(self.reshape(-1).tolist(), *others, strict=True)]
    return _take_over(self, values)


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """A view of another shape. Of old; use reshape."""
    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    return self.reshape(*sizes)


def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """A view of another tensor's shape. Of old; use reshape."""
    warnings.warn("non-inplace resize_as is deprecated", stacklevel=2)
    return self.reshape(tensor.shape)


def lu(self: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """The LU factors. Use torch.linalg.lu_factor in new programs."""
    return factors.lu(self, pivot=pivot, get_infos=get_infos)


def to_mkldnn(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Raises: there is no such layout here."""
    raise NotImplementedError("to_mkldnn(): tensors are strided or sparse here; keep the tensor as it is")


def __reversed__(self: Tensor) -> Tensor:
    return self if self.dim() == 0 else _functions.flip(self, (0,))


def _copied(function: Any) -> Callable[..., Any]:
    made = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return update_wrapper(made, function)


for _name in _NEVER:
    setattr(Tensor, _name, property(lambda self: False))
for _method in (
    equal, allclose, is_conj, is_neg, is_signed, is_distributed, get_device, is_set_to, dim_order, storage_type,
    new, fill_diagonal_, apply_, map_, map2_, __reversed__, resize, resize_as, lu, to_mkldnn,
):  # fmt: skip
    # A copy: who is asked for a function tells the method from the function of torch.
    setattr(Tensor, _method.__name__, _copied(_method))
setattr(Tensor, "const_data_ptr", lambda self: _C._data_address(self))  # noqa: B010
setattr(Tensor, "_is_view", lambda self: self._base is not None)  # noqa: B010
