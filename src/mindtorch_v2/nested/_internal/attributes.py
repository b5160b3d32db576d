"""What a jagged tensor says of itself."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .nested_tensor import NestedTensor, components, lengths_on_host
from .rules import rule


def size_of(nested: NestedTensor) -> torch.Size:
    """With a name for the ragged dimension. Note [Ragged sizes] in nested_int.py."""
    sizes: list[Any] = [nested._offsets.shape[0] - 1, *nested._values.shape]
    sizes[nested._ragged_idx] = nested._size
    return torch.Size(sizes)


def strides_of(nested: NestedTensor) -> tuple[Any, ...]:
    """As if all sequences had the ragged size."""
    strides: list[Any] = list(nested._values.stride())
    outer = max(range(len(strides)), key=lambda d: (strides[d], -d))
    length: Any = nested._size if outer == nested._ragged_idx - 1 else nested._values.shape[outer]
    if outer != nested._ragged_idx - 1:
        strides = [
            nested._size * (s // nested._values.shape[nested._ragged_idx - 1])
            if s > strides[nested._ragged_idx - 1]
            else s
            for s in strides
        ]
    first = length * strides[outer] if strides[outer] != 1 else length
    return (first, *strides)


@rule("size")
def size(func: Any, self: NestedTensor, dim: int | None = None) -> Any:
    return size_of(self) if dim is None else size_of(self)[dim]


@rule(".shape")
def shape(func: Any, self: NestedTensor) -> torch.Size:
    return size_of(self)


@rule("stride")
def stride(func: Any, self: NestedTensor, dim: int | None = None) -> Any:
    return strides_of(self) if dim is None else strides_of(self)[dim]


@rule("sym_size", "sym_stride")
def symbolic(func: Any, self: NestedTensor, dim: int | None = None) -> Any:
    return (size if "size" in func.__name__ else stride)(func, self, dim)


@rule("numel", "nelement", "sym_numel")
def numel(func: Any, self: NestedTensor) -> int:
    rest = self._values.numel() // max(self._values.shape[self._ragged_idx - 1], 1)
    return self._values.numel() if self._lengths is None else sum(lengths_on_host(self)) * rest


@rule("__len__")
def length(func: Any, self: NestedTensor) -> int:
    return self._offsets.shape[0] - 1


@rule("__iter__")
def iterate(func: Any, self: NestedTensor) -> Any:
    return iter(components(self))


@rule(".is_nested")
def is_nested(func: Any, self: NestedTensor) -> bool:
    return True


@rule(".layout")
def layout(func: Any, self: NestedTensor) -> torch.layout:
    return torch.jagged


@rule(".nbytes")
def nbytes(func: Any, self: NestedTensor) -> int:
    return numel(func, self) * self._values.element_size()


@rule("is_contiguous")
def is_contiguous(func: Any, self: NestedTensor, memory_format: Any = torch.contiguous_format) -> bool:
    return self._lengths is None and self._values.is_contiguous(memory_format=memory_format)


@rule("is_pinned")
def is_pinned(func: Any, self: NestedTensor, device: Any = None) -> bool:
    return self._values.is_pinned()


@rule("is_same_size")
def is_same_size(func: Any, self: Any, other: Any) -> bool:
    if not (self.is_nested and other.is_nested):
        said = ["is" if t.is_nested else "is not" for t in (self, other)]
        raise RuntimeError(
            "Expected both self and other to be nested tensors. "
            f"Self {said[0]} nested. While Other {said[1]} nested."
        )
    return bool(self.layout == other.layout and size_of(self) == size_of(other))


@rule("equal")
def equal(func: Any, self: Any, other: Any) -> bool:
    """Whether both have the same sequences: their lengths count, not which offsets they were made with."""
    if not (self.is_nested and other.is_nested) or lengths_on_host(self) != lengths_on_host(other):
        return False
    return all(torch.equal(a, b) for a, b in zip(components(self), components(other), strict=True))


@rule("allclose")
def allclose(func: Any, self: Any, other: Any, *args: Any, **kwargs: Any) -> bool:
    if not (self.is_nested and other.is_nested) or lengths_on_host(self) != lengths_on_host(other):
        raise RuntimeError(f"allclose(): wanted nested tensors with the same lengths, got {self} and {other}")
    return all(func(a, b, *args, **kwargs) for a, b in zip(components(self), components(other), strict=True))


@rule("__repr__")
def represent(func: Any, self: NestedTensor, tensor_contents: Any = None) -> str:
    history = (
        f", grad_fn={self.grad_fn}" if self.grad_fn else ", requires_grad=True" if self.requires_grad else ""
    )
    return (
        f"NestedTensor(size={tuple(size_of(self))}, offsets={self._offsets}{history}, "
        f"contiguous={self.is_contiguous()})"
    )


@rule("__str__")
def text(func: Any, self: NestedTensor) -> str:
    return represent(func, self)


@rule("__format__")
def formatted(func: Any, self: NestedTensor, form: str) -> str:
    return format(represent(func, self), form)


@rule("__bool__", "is_nonzero")
def truth(func: Any, self: NestedTensor) -> bool:
    return bool(func(_one_element(self, "Boolean value of Tensor with more than one value is ambiguous")))


@rule("item", "__int__", "__float__", "__index__", "__complex__")
def number(func: Any, self: NestedTensor) -> Any:
    return func(
        _one_element(self, f"a Tensor with {numel(func, self)} elements cannot be converted to Scalar")
    )


def _one_element(nested: NestedTensor, message: str) -> torch.Tensor:
    if numel(None, nested) != 1:
        raise RuntimeError(message)
    return torch.cat([c.flatten() for c in components(nested)])


@rule("tolist", "numpy", "__array__")
def to_python(func: Any, self: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(
        f".{func.__name__}() is not supported for tensor subclasses, got NestedTensor: sequences of different lengths "
        "are no array. Use it on each tensor of unbind()"
    )


@rule("untyped_storage", "storage", "_typed_storage", "_storage_handle")
def storage(func: Any, self: NestedTensor) -> Any:
    raise RuntimeError(
        "a nested tensor has no storage of its own: use values() and offsets(), which have one each"
    )
