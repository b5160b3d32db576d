"""Nested tensors in the strided layout, PyTorch's first: tensors of one dtype whose sizes may differ everywhere.

One is a list of tensors (``_parts``). What operators do with it, they do with each; the table has those that PyTorch
has. As in the jagged layout, parts leave and enter through functions with gradients (Note [Nested tensors]).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import mindtorch_v2 as torch

from ..._types.size import from_front
from . import pointwise, rules
from .conversions import grown
from .nested_int import NestedInt

rule = rules.strided.rule
Shapes = tuple[torch.Size, ...]
_sizes_of_shapes: WeakValueDictionary[Shapes, NestedInt] = WeakValueDictionary()


class StridedNestedTensor(torch.Tensor):
    """A list of tensors with one dtype, one device and as many dimensions."""

    _parts: tuple[torch.Tensor, ...]
    _size: NestedInt
    is_nested = True

    @staticmethod
    def __new__(
        cls: type[StridedNestedTensor], parts: Sequence[torch.Tensor], dtype: Any = None, device: Any = None
    ) -> StridedNestedTensor:
        shapes = tuple(p.shape for p in parts)
        size = _sizes_of_shapes.get(shapes)
        if size is None:
            size = _sizes_of_shapes[shapes] = NestedInt()
        native = [
            len(parts),
            *(sizes[0] if len({*sizes}) == 1 else -1 for sizes in zip(*shapes, strict=True)),
        ]
        if -1 in native:  # Note [Ragged sizes]: one number stands for all that differ
            native[native.index(-1)] = size.native
            native = [max(n, 1) if n < 0 else n for n in native]
        if parts:
            dtype, device = parts[0].dtype, parts[0].device
        made: StridedNestedTensor = torch.Tensor._make_wrapper_subclass(
            cls, native, strides=[0] * len(native), dtype=dtype, device=device
        )
        made._parts, made._size = tuple(p.detach() if p.requires_grad else p for p in parts), size
        return made

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return rules.strided.call(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return rules.strided.call_below_history(func, args, kwargs or {})

    def values(self) -> torch.Tensor:
        """All elements, in one dimension."""
        return torch.cat([p.flatten() for p in parts_of(self)]) if self._parts else self.new_tensor([])

    def _nested_tensor_size(self) -> torch.Tensor:
        return torch.tensor([list(p.shape) for p in self._parts], dtype=torch.int64)

    def _nested_tensor_strides(self) -> torch.Tensor:
        return torch.tensor([list(p.stride()) for p in self._parts], dtype=torch.int64)

    def _nested_tensor_storage_offsets(self) -> torch.Tensor:
        counts = [0]
        for part in self._parts:
            counts.append(counts[-1] + part.numel())
        return torch.tensor(counts[:-1], dtype=torch.int64)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if torch._utils.loading.skip_data:
            raise RuntimeError("Cannot serialize nested tensor under skip_data context manager")
        whole: Any = self.detach().contiguous()
        sizes = (
            whole._nested_tensor_size(),
            whole._nested_tensor_strides(),
            whole._nested_tensor_storage_offsets(),
        )
        return torch._utils._rebuild_nested_tensor, (whole.values(), *sizes)


def rebuild(
    buffer: torch.Tensor, sizes: torch.Tensor, strides: torch.Tensor, offsets: torch.Tensor
) -> torch.Tensor:
    """Views of one dense tensor, as files have them."""
    each = zip(sizes.tolist(), strides.tolist(), offsets.tolist(), strict=True)
    start = buffer.storage_offset()
    return _nested([buffer.as_strided(size, stride, start + offset) for size, stride, offset in each], buffer)


# ---- parts out, parts in -----------------------------------------------------------------------------


class _Parts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, nested: StridedNestedTensor) -> tuple[torch.Tensor, ...]:
        ctx.shapes = [p.shape for p in nested._parts]
        return tuple(p.detach() for p in nested._parts)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        some = next(g for g in grads if g is not None)
        return _nested(
            [some.new_zeros(s) if g is None else g for g, s in zip(grads, ctx.shapes, strict=True)], some
        )


class _Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *parts: torch.Tensor) -> StridedNestedTensor:
        return StridedNestedTensor([p.detach() for p in parts])

    @staticmethod
    def backward(ctx: Any, grad: StridedNestedTensor) -> Any:
        return parts_of(grad)


class _Written(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, nested: StridedNestedTensor, *parts: torch.Tensor) -> StridedNestedTensor:
        for own, part in zip(nested._parts, parts, strict=True):
            own.copy_(part.detach())
        ctx.mark_dirty(nested)
        return nested

    @staticmethod
    def backward(ctx: Any, grad: StridedNestedTensor) -> Any:
        return None, *parts_of(grad)


def parts_of(nested: StridedNestedTensor) -> tuple[torch.Tensor, ...]:
    """The tensors, with history."""
    if torch.is_grad_enabled() and nested.requires_grad and nested._parts:
        return _Parts.apply(nested)  # type: ignore[no-any-return]
    return nested._parts


def _nested(parts: Sequence[torch.Tensor], like: Any) -> StridedNestedTensor:
    if torch.is_grad_enabled() and any(p.requires_grad for p in parts):
        return _Nested.apply(*parts)  # type: ignore[no-any-return]
    return StridedNestedTensor(parts, like.dtype, like.device)


def strided_of(tensors: list[torch.Tensor], dtype: Any = None, device: Any = None) -> StridedNestedTensor:
    """A nested tensor of a list, with the history of its tensors."""
    for at, tensor in enumerate(tensors):
        if tensor.dim() != tensors[0].dim():
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. "
                f"Found dimension {tensor.dim()} for Tensor at index {at} and dimension {tensors[0].dim()} for Tensor "
                "at index 0."
            )
    if not tensors:
        return StridedNestedTensor([], dtype or torch.get_default_dtype(), device or "cpu")
    return _nested(tensors, tensors[0])


# ---- the same operator on each part --------------------------------------------------------------------


def _first(values: Any) -> StridedNestedTensor | None:
    for value in values:
        if isinstance(value, StridedNestedTensor):
            return value
        if isinstance(value, (list, tuple)) and (found := _first(value)) is not None:
            return found
    return None


def each(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function with the parts of nested tensors; several results for each part make several nested tensors."""
    like = _first((*args, *kwargs.values()))
    assert like is not None
    taken = {id(v): parts_of(v) for v in _nested_in((*args, *kwargs.values()))}
    if len({len(parts) for parts in taken.values()}) > 1:
        raise RuntimeError("nested tensors must have as many parts as each other")

    def at(place: int, value: Any) -> Any:
        if isinstance(value, StridedNestedTensor):
            return taken[id(value)][place]
        if isinstance(value, (list, tuple)):
            return type(value)(at(place, v) for v in value)
        return value

    made = [
        func(*(at(i, a) for a in args), **{k: at(i, v) for k, v in kwargs.items()})
        for i in range(len(like._parts))
    ]
    if made and isinstance(made[0], (list, tuple)):
        return tuple(_nested(list(m), m[0]) for m in zip(*made, strict=True))
    return _nested(made, made[0] if made else like)


def _nested_in(values: Any) -> list[StridedNestedTensor]:
    found = []
    for value in values:
        if isinstance(value, StridedNestedTensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _nested_in(value)
    return found


def _check_alike(name: str, values: Any, like: StridedNestedTensor) -> None:
    shapes = [p.shape for p in like._parts]
    for value in values:
        if isinstance(value, StridedNestedTensor):
            if [p.shape for p in value._parts] != shapes:
                raise RuntimeError(
                    f"{name} does not support broadcasting when given a NestedTensor: the parts have other sizes"
                )
        elif isinstance(value, torch.Tensor) and value.dim():
            raise RuntimeError(
                "Expected both self and other to be nested, but got "
                + (
                    "a nested self and non-nested other"
                    if values[0] is like
                    else "a non-nested self and nested other"
                )
                + "; the jagged layout broadcasts dense tensors"
            )


@rule(*pointwise.NAMES)
def elementwise(func: Any, *args: Any, **kwargs: Any) -> Any:
    like = _first((*args, *kwargs.values()))
    assert like is not None
    _check_alike(func.__name__, [*args, *kwargs.values()], like)
    if kwargs.get("inplace") and hasattr(func, "__wrapped__"):
        return func.__wrapped__(*args, **kwargs)
    return each(func, *args, **kwargs)


@rule(*pointwise.IN_PLACE, "copy_")
def in_place(func: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(self, StridedNestedTensor):
        raise RuntimeError(f"{func.__name__}(): a dense tensor cannot hold a nested result")
    _check_alike(func.__name__, [self, *args], self)
    needs = any(v.requires_grad for v in _nested_in((self, *args, *kwargs.values())))
    if torch.is_grad_enabled() and needs:
        if self.is_leaf and self.requires_grad:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        made = each(lambda own, *rest, **named: func(own.clone(), *rest, **named), self, *args, **kwargs)
        return _Written.apply(self, *parts_of(made))
    each(func, self, *args, **kwargs)
    return self


@rule("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool", "to", "cpu",
      "pin_memory", "_to_copy")  # fmt: skip
def convert(func: Any, self: StridedNestedTensor, *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("layout", torch.strided) is not torch.strided:
        raise RuntimeError(
            f"a nested tensor in the strided layout cannot become {kwargs['layout']}; make it anew"
        )
    kwargs.pop("layout", None)
    parts = parts_of(self)
    made = [func(p, *args, **kwargs) for p in parts]
    if all(m is p for m, p in zip(made, parts, strict=True)) and parts is self._parts:
        return self
    return _nested(made, made[0] if made else self)


@rule("type")
def type_of(func: Any, self: StridedNestedTensor, dtype: Any = None) -> Any:
    return func(self._parts[0]) if dtype is None else convert(func, self, dtype)


@rule(
    "clone",
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
    "rand_like",
    "randn_like",
    "alias",
    "lift_fresh",
)
def copies(func: Any, self: StridedNestedTensor, *args: Any, **kwargs: Any) -> Any:
    wanted = kwargs.pop("requires_grad", False)
    kwargs.pop("layout", None)
    made = each(func, self, *args, **kwargs)
    return made.requires_grad_() if wanted else made


@rule("detach", ".data")
def detach(func: Any, self: StridedNestedTensor) -> StridedNestedTensor:
    return StridedNestedTensor([p.detach() for p in self._parts], self.dtype, self.device)


@rule("contiguous")
def contiguous(func: Any, self: StridedNestedTensor, memory_format: Any = torch.contiguous_format) -> Any:
    return self if self.is_contiguous() else each(lambda p: p.contiguous(), self)


# ---- dimensions ----------------------------------------------------------------------------------------


@rule("softmax", "log_softmax", "_softmax", "_log_softmax", "cumsum", "cumprod")
def along(func: Any, self: StridedNestedTensor, dim: int, *args: Any, **kwargs: Any) -> Any:
    place = from_front(dim, self.dim())
    if place == 0:
        raise RuntimeError(f"Cannot apply {func.__name__.partition('.')[0]} across nested dimension 0")
    return each(func, self, place - 1, *args, **kwargs)


@rule("sum", "mean", "amax", "amin", "prod")
def reduce(
    func: Any, self: StridedNestedTensor, dim: Any = None, keepdim: bool = False, **kwargs: Any
) -> Any:
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return func(self.values(), **kwargs)
    dims = [from_front(d, self.dim()) for d in (dim if isinstance(dim, (list, tuple)) else (dim,))]
    if dims != [self.dim() - 1]:
        raise RuntimeError(
            f"NestedTensor can only be reduced across the last dimension for now got dimension {dims[0]} instead."
        )
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    return each(func, self, -1, True, **kwargs)


@rule("transpose", "swapaxes", "swapdims")
def transpose(func: Any, self: StridedNestedTensor, dim0: int, dim1: int) -> Any:
    one, other = from_front(dim0, self.dim()), from_front(dim1, self.dim())
    if one == other:
        return detach(func, self) if not self.requires_grad else each(lambda p: p, self)
    if 0 in (one, other):
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    return each(func, self, one - 1, other - 1)


@rule(".mT")
def turned(func: Any, self: StridedNestedTensor) -> Any:
    return each(lambda p: p.mT, self)


@rule("view", "reshape", "_reshape_alias")
def view(func: Any, self: StridedNestedTensor, *shape: Any) -> Any:
    wanted = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else list(shape)
    name = func.__name__.partition(".")[0]
    if not wanted or wanted[0] != len(self._parts):
        raise RuntimeError(
            f"{name}: For now nested {name} cannot change or infer the implicit batch dimension"
        )

    def of_part(part: torch.Tensor) -> torch.Tensor:
        inner = [
            part.shape[d] if s == -1 and d < part.dim() else s for d, s in enumerate(wanted[1:])
        ]  # as it was
        try:
            return part.reshape(inner) if name == "reshape" else part.view(inner)
        except RuntimeError:
            raise RuntimeError(f"shape '{wanted}' is invalid for input of size {part.numel()}") from None

    return each(of_part, self)


@rule("unsqueeze")
def unsqueeze(func: Any, self: StridedNestedTensor, dim: int) -> Any:
    place = from_front(dim, self.dim() + 1)
    if place == 0:
        raise RuntimeError(
            "unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the moment"
        )
    return each(func, self, place - 1)


@rule("squeeze")
def squeeze(func: Any, self: StridedNestedTensor, dim: Any = None) -> Any:
    if dim is None:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeeze without the dim argument is not supported at the moment, however "
            "you can use squeeze(Tensor self, int dim) instead"
        )
    place = from_front(dim, self.dim())
    if place == 0:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeezing dimension 0 is not supported at the moment"
        )
    return each(func, self, place - 1)


@rule("chunk", "split", "split_with_sizes")
def pieces(func: Any, self: StridedNestedTensor, sizes: Any, dim: int = 0) -> Any:
    if from_front(dim, self.dim()) != self.dim() - 1:
        name = func.__name__.partition(".")[0]
        raise RuntimeError(
            f"{name.capitalize()} for nested tensors is currently only supported for the last dimension."
        )
    return each(func, self, sizes, -1)


@rule("unbind")
def unbind(func: Any, self: StridedNestedTensor, dim: int = 0) -> tuple[torch.Tensor, ...]:
    if from_front(dim, self.dim()) != 0:
        raise RuntimeError(f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead.")
    return parts_of(self)


@rule("select")
def select(func: Any, self: StridedNestedTensor, dim: int, index: int) -> Any:
    place = from_front(dim, self.dim())
    if place:
        return each(func, self, place - 1, index)
    count = len(self._parts)
    if not -count <= index < count:
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {count}")
    return parts_of(self)[index]


@rule("narrow")
def narrow(func: Any, self: StridedNestedTensor, dim: int, start: int, length: int) -> Any:
    if from_front(dim, self.dim()) != 0:
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
    return _nested(parts_of(self)[start : start + length], self)


@rule("__getitem__")
def get(func: Any, self: StridedNestedTensor, index: Any) -> Any:
    parts = index if isinstance(index, tuple) else (index,)
    if parts == (Ellipsis,):
        return each(lambda p: p, self)
    if not isinstance(parts[0], int):
        raise NotImplementedError(
            "an index of a nested tensor in the strided layout begins with the number of a part, got "
            f"{parts[0]!r}; unbind() gives all of them"
        )
    found = select(func, self, 0, parts[0])
    return found[tuple(parts[1:])] if len(parts) > 1 else found


@rule("cat", "concat", "concatenate")
def cat(func: Any, tensors: Any, dim: int = 0) -> Any:
    if not all(isinstance(t, StridedNestedTensor) for t in tensors):
        raise RuntimeError("cat(): expected each tensor to be nested, in the strided layout")
    if dim == 0:
        return _nested([p for t in tensors for p in parts_of(t)], tensors[0])
    place = from_front(dim, tensors[0].dim()) - 1
    return each(lambda parts: torch.cat(parts, place), list(tensors))


# ---- products and layers -------------------------------------------------------------------------------


@rule("matmul", "__matmul__")
def matmul(func: Any, self: Any, other: Any) -> Any:
    if not (isinstance(self, StridedNestedTensor) and isinstance(other, StridedNestedTensor)):
        kinds = ["nested" if v.is_nested else "non-nested" for v in (self, other)]
        raise RuntimeError(f"Expected both to be nested, but got a {kinds[0]} self and {kinds[1]} other")
    return each(torch.matmul, self, other)


@rule("bmm")
def bmm(func: Any, self: Any, mat2: Any) -> Any:
    if self.dim() != 3 or mat2.dim() != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if self.dim() != 3 else "batch2 must be a 3D tensor")
    batches = [v if v.is_nested else strided_of(list(v.unbind(0))) for v in (self, mat2)]
    if len({len(b._parts) for b in batches}) > 1:
        raise RuntimeError(
            f"Expected size for the 1st dimension of 2nd input tensor to be: {len(batches[0]._parts)} but got: "
            f"{len(batches[1]._parts)}."
        )
    return each(torch.matmul, *batches)


@rule("linear", "dropout", "layer_norm", "rms_norm", "native_dropout", "one_hot")
def layer(func: Any, input: StridedNestedTensor, *args: Any, **kwargs: Any) -> Any:
    return each(func, input, *args, **kwargs)


@rule("embedding")
def embedding(func: Any, input: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
    return each(func, input, weight, *args, **kwargs)


@rule("scaled_dot_product_attention")
def attention(func: Any, query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
    if not all(isinstance(t, StridedNestedTensor) for t in (query, key, value)):
        raise RuntimeError(
            "scaled_dot_product_attention: query, key and value must all be nested, or all dense"
        )

    def one(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = func(q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), *args, **kwargs).squeeze(0)
        return made

    return each(one, query, key, value)


# ---- what it says of itself ----------------------------------------------------------------------------


@rule("to_padded_tensor")
def to_padded_tensor(
    func: Any, self: StridedNestedTensor, padding: float, output_size: Any = None
) -> torch.Tensor:
    parts = parts_of(self)
    if not parts:
        return torch.empty(0, dtype=self.dtype, device=self.device)
    largest = [max(sizes) for sizes in zip(*(p.shape for p in parts), strict=True)]
    made = torch.stack([grown(p, padding, largest) for p in parts])
    return made if output_size is None else grown(made, padding, output_size)


@rule("size")
def size(func: Any, self: StridedNestedTensor, dim: int | None = None) -> Any:
    if dim is None:
        raise RuntimeError(
            "a nested tensor in the strided layout has no sizes that hold for all of its parts; use size(dim), or "
            "shape of each tensor of unbind()"
        )
    place = from_front(dim, self.dim())
    if place == 0:
        return len(self._parts)
    sizes = {p.shape[place - 1] for p in self._parts}
    if len(sizes) != 1:
        raise RuntimeError(f"Given dimension {place} is irregular and does not have a size.")
    return sizes.pop()


@rule(".shape", "stride")
def shape(func: Any, self: StridedNestedTensor) -> Any:
    return size(func, self)


@rule("numel", "nelement")
def numel(func: Any, self: StridedNestedTensor) -> int:
    return sum(p.numel() for p in self._parts)


@rule("__len__")
def length(func: Any, self: StridedNestedTensor) -> int:
    return len(self._parts)


@rule(".layout")
def layout(func: Any, self: StridedNestedTensor) -> torch.layout:
    return torch.strided


@rule("is_contiguous")
def is_contiguous(func: Any, self: StridedNestedTensor, memory_format: Any = None) -> bool:
    return all(p.is_contiguous() for p in self._parts)


@rule("is_pinned")
def is_pinned(func: Any, self: StridedNestedTensor, device: Any = None) -> bool:
    return any(p.is_pinned() for p in self._parts)


@rule("is_same_size")
def is_same_size(func: Any, self: Any, other: Any) -> bool:
    if not (self.is_nested and other.is_nested):
        said = ["is" if t.is_nested else "is not" for t in (self, other)]
        raise RuntimeError(
            "Expected both self and other to be nested tensors. "
            f"Self {said[0]} nested. While Other {said[1]} nested."
        )
    return [p.shape for p in self._parts] == [p.shape for p in other._parts]


@rule("equal")
def equal(func: Any, self: Any, other: Any) -> bool:
    return is_same_size(func, self, other) and all(map(torch.equal, self._parts, other._parts))


@rule("allclose")
def allclose(func: Any, self: Any, other: Any, *args: Any, **kwargs: Any) -> bool:
    return is_same_size(func, self, other) and all(
        torch.allclose(a, b, *args, **kwargs) for a, b in zip(self._parts, other._parts, strict=True)
    )


@rule("item", "__bool__", "__int__", "__float__")
def number(func: Any, self: StridedNestedTensor) -> Any:
    count = numel(func, self)
    if count == 1:
        return func(self.values())
    if func.__name__ == "__bool__":
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    raise RuntimeError(f"a Tensor with {count} elements cannot be converted to Scalar")


@rule("new_tensor", "new_zeros", "new_ones", "new_full", "new_empty")
def new(func: Any, self: StridedNestedTensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    return func(torch.empty(0, dtype=self.dtype, device=self.device), *args, **kwargs)  # type: ignore[no-any-return]


@rule("__repr__")
def represent(func: Any, self: StridedNestedTensor, tensor_contents: Any = None) -> str:
    parts = ",\n".join("  " + repr(p.detach()).replace("\n", "\n  ") for p in self._parts)
    history = (
        f", grad_fn={self.grad_fn}" if self.grad_fn else ", requires_grad=True" if self.requires_grad else ""
    )
    return f"nested_tensor([\n{parts}\n]{history})"


@rule("__deepcopy__")
def deepcopy(func: Any, self: StridedNestedTensor, memo: dict[int, Any]) -> Any:
    if id(self) not in memo:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment"
            )
        made = StridedNestedTensor([copy.deepcopy(p, memo) for p in self._parts], self.dtype, self.device)
        memo[id(self)] = made.requires_grad_(self.requires_grad)
        if self.grad is not None:
            made.grad = copy.deepcopy(self.grad, memo)
    return memo[id(self)]
