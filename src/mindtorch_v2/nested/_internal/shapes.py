"""Other shapes of jagged tensors. Dimension d is d - 1 of the values; the first one has no memory of its own."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from ..._types.size import from_front
from .attributes import size_of
from .nested_int import NestedInt
from .nested_tensor import NestedTensor, components, lengths_of, nested_of, values_of, without_holes, wrap
from .pointwise import first_nested, wrapped
from .rules import name_of, rule


def dim_of(nested: NestedTensor, dim: int, more: int = 0) -> int:
    """A dimension as it counts from the front; ``more`` for those that are yet to come."""
    return from_front(dim, nested.dim() + more)


def inner_dim(name: str, nested: NestedTensor, dim: int) -> int:
    """A dimension of the values that an operator may change: neither the batch's nor the ragged one."""
    found = dim_of(nested, dim)
    if found == 0:
        raise not_on_batch(name)
    if found == nested._ragged_idx:
        raise not_on_ragged(name)
    return found - 1


def not_on_batch(name: str) -> RuntimeError:
    return RuntimeError(
        f"{name}(): not supported for NestedTensor on dim=0; use it on the list that unbind() gives"
    )


def not_on_ragged(name: str) -> RuntimeError:
    return RuntimeError(
        f"{name}(): not supported for NestedTensor on ragged dim; use it on each tensor of unbind()"
    )


def _sizes(args: tuple[Any, ...]) -> list[Any]:
    return list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)


@rule("transpose", "swapaxes", "swapdims", "transpose_copy")
def transpose(func: Any, self: NestedTensor, dim0: int, dim1: int) -> NestedTensor:
    one, other = dim_of(self, dim0), dim_of(self, dim1)
    if one == other:
        return wrap(values_of(self), self)
    if 0 in (one, other):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    ragged = {one: other, other: one}.get(self._ragged_idx, self._ragged_idx)
    return wrap(values_of(self).transpose(one - 1, other - 1), self, ragged)


@rule("permute", "permute_copy")
def permute(func: Any, self: NestedTensor, *args: Any, dims: Any = ()) -> NestedTensor:
    dims = _sizes(args) if args else dims
    order = [dim_of(self, d) for d in dims]
    if sorted(order) != list(range(self.dim())):
        raise RuntimeError(f"permute(dims): wanted each of {self.dim()} dimensions once, got {tuple(dims)}")
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    return wrap(values_of(self).permute([d - 1 for d in order[1:]]), self, order.index(self._ragged_idx))


@rule("movedim", "moveaxis")
def movedim(func: Any, self: NestedTensor, source: Any, destination: Any) -> NestedTensor:
    moved = torch.empty(list(range(self.dim())), device="meta").movedim(source, destination)
    return permute(func, self, list(moved.shape))


@rule(".mT", "adjoint", ".mH", ".T", ".H", "t")
def turned(func: Any, self: NestedTensor) -> NestedTensor:
    name = name_of(func)
    if name in (".T", ".H", "t"):
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    made = transpose(func, self, -2, -1)
    if name in ("adjoint", ".mH") and made.is_complex():
        return wrap(values_of(made).conj(), made)
    return made


@rule("view", "reshape", "_unsafe_view", "view_copy", "_reshape_alias")
def view(func: Any, self: NestedTensor, *shape: Any, **kwargs: Any) -> NestedTensor:
    name = "reshape" if name_of(func) == "reshape" else "view"
    wanted = _sizes(shape) if shape else list(kwargs.get("shape", kwargs.get("size", ())))
    if len(wanted) == 1 and isinstance(wanted[0], torch.dtype):
        return wrap(values_of(self).view(wanted[0]), self)
    own = self._size
    batch = self._offsets.shape[0] - 1
    refusal = RuntimeError(
        f"view(): cannot view shape {tuple(size_of(self))} as {wanted}: the batch and the ragged dimension stay as "
        "they are, only others may be split or joined"
    )
    marks = [d for d, s in enumerate(wanted) if isinstance(s, NestedInt)]
    if any(wanted[d] != own for d in marks) or len(marks) > 1 or len(wanted) < 2:
        raise refusal
    ragged = marks[0] if marks else next((d for d, s in enumerate(wanted) if d and s == -1), 0)
    if ragged == 0 or wanted[0] not in (batch, -1):
        raise refusal
    before = list(self._values.shape)
    rows = before[self._ragged_idx - 1]
    inner = list(wanted[1:])
    inner[ragged - 1] = rows
    ahead = torch.Size(before[: self._ragged_idx - 1]).numel()
    if -1 not in inner[: ragged - 1] and torch.Size(inner[: ragged - 1]).numel() != ahead:
        raise refusal
    values = values_of(self)
    try:
        made = values.reshape(inner) if name == "reshape" else values.view(inner)
    except RuntimeError as error:
        raise refusal from error
    return wrap(made, self, ragged)


@rule("view_as", "reshape_as")
def view_as(func: Any, self: NestedTensor, other: Any) -> NestedTensor:
    return view(func, self, list(other.shape))


@rule("unflatten")
def unflatten(func: Any, self: NestedTensor, dim: int, sizes: Any) -> NestedTensor:
    place = inner_dim("unflatten", self, dim)
    ragged = self._ragged_idx + (len(sizes) - 1 if place + 1 < self._ragged_idx else 0)
    return wrap(values_of(self).unflatten(place, sizes), self, ragged)


@rule("flatten")
def flatten(func: Any, self: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> NestedTensor:
    start, end = dim_of(self, start_dim), dim_of(self, end_dim)
    if start == end:
        return self
    if start == 0:
        raise not_on_batch("flatten")
    if start <= self._ragged_idx <= end:
        raise not_on_ragged("flatten")
    ragged = self._ragged_idx - (end - start if end < self._ragged_idx else 0)
    return wrap(values_of(self).flatten(start - 1, end - 1), self, ragged)


@rule("ravel")
def ravel(func: Any, self: NestedTensor) -> NestedTensor:
    raise not_on_batch("ravel")


@rule("unsqueeze", "unsqueeze_copy")
def unsqueeze(func: Any, self: NestedTensor, dim: int) -> NestedTensor:
    place = dim_of(self, dim, 1)
    if place == 0:
        raise not_on_batch("unsqueeze")
    return wrap(values_of(self).unsqueeze(place - 1), self, self._ragged_idx + (place <= self._ragged_idx))


@rule("squeeze", "squeeze_copy")
def squeeze(func: Any, self: NestedTensor, dim: Any = None) -> NestedTensor:
    if dim is None:
        places = [d for d, s in enumerate(self._values.shape) if s == 1 and d != self._ragged_idx - 1]
    else:
        given = dim if isinstance(dim, (list, tuple)) else (dim,)
        places = [d for d in (inner_dim("squeeze", self, d) for d in given) if self._values.shape[d] == 1]
    fewer = sum(d < self._ragged_idx - 1 for d in places)
    return wrap(values_of(self).squeeze(tuple(places)), self, self._ragged_idx - fewer)


@rule("expand", "broadcast_to")
def expand(func: Any, self: NestedTensor, *sizes: Any, **kwargs: Any) -> NestedTensor:
    wanted = _sizes(sizes) if sizes else list(kwargs["size"])
    own = size_of(self)
    fits = (
        len(wanted) == len(own) and wanted[0] in (-1, own[0]) and wanted[self._ragged_idx] in (-1, self._size)
    )
    if not fits:
        raise RuntimeError(
            f"expand(): cannot expand shape {tuple(own)} to {wanted}: the batch and the ragged dimension stay as "
            "they are"
        )
    inner = [-1 if isinstance(s, NestedInt) else s for s in wanted[1:]]
    return wrap(values_of(self).expand(inner), self)


@rule("expand_as")
def expand_as(func: Any, self: Any, other: Any) -> NestedTensor:
    if isinstance(self, NestedTensor):
        return expand(func, self, list(other.shape))
    return torch.zeros_like(other, dtype=self.dtype) + self  # type: ignore[no-any-return]


# ---- parts -----------------------------------------------------------------------------------------


@rule("unbind", "unbind_copy")
def unbind(func: Any, self: NestedTensor, dim: int = 0) -> tuple[torch.Tensor, ...]:
    if dim_of(self, dim) != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    return components(self)


@rule("chunk", "unsafe_chunk")
def chunk(func: Any, self: NestedTensor, chunks: int, dim: int = 0) -> tuple[NestedTensor, ...]:
    place = dim_of(self, dim)
    if place == 0:
        return _parts_of_batch(without_holes(self), chunks)
    return wrapped(func(values_of(self), chunks, inner_dim("chunk", self, dim)), self)  # type: ignore[no-any-return]


def _parts_of_batch(nested: NestedTensor, chunks: int) -> tuple[NestedTensor, ...]:
    dim, values = nested._ragged_idx - 1, values_of(nested)
    made: list[NestedTensor] = []
    for lengths in lengths_of(nested).chunk(chunks):
        start = sum(m._values.shape[dim] for m in made)
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        made.append(
            nested_of(values.narrow(dim, start, int(lengths.sum())), offsets, None, nested._ragged_idx)
        )
    return tuple(made)


@rule("split", "split_with_sizes", "unsafe_split", "tensor_split", "split_with_sizes_copy")
def split(func: Any, self: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    given, named = list(args), dict(kwargs)
    dim = given.pop(1) if len(given) > 1 else named.pop("dim", 0)
    (sizes,) = (*given, *named.values())  # each has another name for them
    return wrapped(func(values_of(self), sizes, inner_dim(name_of(func), self, dim)), self)


@rule("narrow", "narrow_copy")
def narrow(func: Any, self: NestedTensor, dim: int, start: Any, length: int) -> NestedTensor:
    return wrap(func(values_of(self), inner_dim("narrow", self, dim), start, length), self)


@rule("select", "select_copy")
def select(func: Any, self: NestedTensor, dim: int, index: int) -> torch.Tensor:
    if dim_of(self, dim) == 0:
        parts = components(self)
        if not -len(parts) <= index < len(parts):
            raise IndexError(f"select(): index {index} is out of range for a batch of {len(parts)} sequences")
        return parts[index]
    place = inner_dim("select", self, dim)
    fewer = place < self._ragged_idx - 1
    return wrap(values_of(self).select(place, index), self, self._ragged_idx - fewer)


@rule("slice", "slice_copy")
def slice_(
    func: Any, self: NestedTensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> NestedTensor:
    place = inner_dim("slice", self, dim)
    return wrap(values_of(self)[(slice(None),) * place + (slice(start, end, step),)], self)


# ---- several -----------------------------------------------------------------------------------------


def _several(name: str, tensors: Any) -> tuple[NestedTensor, list[torch.Tensor]]:
    like = first_nested(tensors)
    assert like is not None
    values = []
    for tensor in tensors:
        if not isinstance(tensor, NestedTensor):
            raise RuntimeError(
                f"{name}(): got nested and dense tensors, of shapes {tuple(like.shape)} and {tuple(tensor.shape)}; "
                "make nested ones of all (nested_tensor_from_jagged)"
            )
        if tensor._ragged_idx != like._ragged_idx or tensor.dim() != like.dim():
            raise RuntimeError(
                f"{name}(): expected nested tensors that are ragged in the same dimension, got shapes "
                f"{tuple(like.shape)} and {tuple(tensor.shape)}"
            )
        values.append(values_of(tensor))
    return like, values


@rule("cat", "concat", "concatenate")
def cat(func: Any, tensors: Any, dim: int = 0, **kwargs: Any) -> NestedTensor:
    like, values = _several("cat", tensors)
    return wrap(torch.cat(values, inner_dim("cat", like, kwargs.get("axis", dim))), like)


@rule("stack")
def stack(func: Any, tensors: Any, dim: int = 0) -> NestedTensor:
    like, values = _several("stack", tensors)
    place = dim_of(like, dim, 1)
    if place == 0:
        raise not_on_batch("stack")
    if place == like._ragged_idx:
        raise not_on_ragged("stack")
    return wrap(torch.stack(values, place - 1), like, like._ragged_idx + (place < like._ragged_idx))


@rule("broadcast_tensors")
def broadcast_tensors(func: Any, *tensors: Any) -> Any:
    given = _sizes(tensors)
    like = first_nested(given)
    return tuple(
        t if isinstance(t, NestedTensor) else torch.zeros_like(like, dtype=t.dtype) + t  # type: ignore[arg-type]
        for t in given
    )


@rule("repeat", "tile")
def repeat(func: Any, self: NestedTensor, *counts: Any) -> NestedTensor:
    given = _sizes(counts)
    given = [1] * (self.dim() - len(given)) + given
    if len(given) != self.dim():
        raise RuntimeError(
            f"repeat(): a nested tensor keeps its {self.dim()} dimensions, got {len(given)} numbers"
        )
    for dim in (0, self._ragged_idx):
        if given[dim] != 1:
            raise (not_on_batch if dim == 0 else not_on_ragged)("repeat")
    return wrap(values_of(self).repeat(given[1:]), self)
