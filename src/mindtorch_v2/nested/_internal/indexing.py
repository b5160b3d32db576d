"""Indices: of sequences, of dimensions that all sequences share, of single steps."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .nested_tensor import (
    NestedTensor,
    dense_values,
    nested_of,
    owners,
    values_of,
    without_holes,
    wrap,
    write,
)
from .pointwise import laid_out
from .rules import refuse, rule
from .shapes import inner_dim, select, slice_, unsqueeze


@rule("__getitem__")
def get(func: Any, self: Any, index: Any) -> Any:
    if not isinstance(self, NestedTensor):
        return self[_values_of_index(index)]
    parts = list(index) if isinstance(index, tuple) else [index]
    if isinstance(parts[0], int) and not isinstance(parts[0], bool):
        found = select(func, self, 0, parts[0])
        return found[tuple(parts[1:])] if len(parts) > 1 else found
    if any(isinstance(p, (torch.Tensor, list)) for p in parts):
        if len(parts) == 1 and isinstance(parts[0], NestedTensor) and parts[0].dtype is torch.bool:
            return dense_values(self)[dense_values(parts[0])]
        return _at_steps(self, parts)
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        missing = self.dim() - sum(p is not None and p is not Ellipsis for p in parts)
        parts[at : at + 1] = [slice(None)] * missing
    made: Any = self
    dim = 0
    for part in parts:
        if part is None:
            made = unsqueeze(func, made, dim)
        elif isinstance(part, slice):
            if part != slice(None):
                made = slice_(func, made, dim, part.start, part.stop, 1 if part.step is None else part.step)
        else:
            made = select(func, made, dim, int(part))
            continue
        dim += 1
    return made if made is not self else wrap(values_of(self), self)


def _values_of_index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(map(_values_of_index, index))
    return index._values if isinstance(index, NestedTensor) else index


def _steps(nested: NestedTensor, parts: Any) -> tuple[Any, ...]:
    """Indices of sequences and of steps in them as indices of the values."""
    parts = list(parts)
    if nested._ragged_idx != 1 or len(parts) < 2 or any(not isinstance(p, torch.Tensor) for p in parts):
        raise RuntimeError(
            "indices of a nested tensor: wanted a tensor of sequences, one of steps in them, and perhaps more for the "
            f"dimensions behind; got {len(parts)} for shape {tuple(nested.shape)}"
        )
    return (nested._offsets[parts[0]] + parts[1], *parts[2:])


def _at_steps(nested: NestedTensor, parts: Any) -> torch.Tensor:
    if len(parts) < 2:
        raise refuse("index")
    return values_of(nested)[_steps(nested, parts)]


@rule("index")
def index(func: Any, self: NestedTensor, indices: Any) -> Any:
    return get(func, self, tuple(indices))


@rule("index_put")
def index_put(
    func: Any, self: NestedTensor, indices: Any, values: Any, accumulate: bool = False
) -> NestedTensor:
    return wrap(values_of(self).index_put(_places(self, indices), _dense(values), accumulate), self)


@rule("index_put_")
def index_put_(
    func: Any, self: NestedTensor, indices: Any, values: Any, accumulate: bool = False
) -> NestedTensor:
    return write(self, values_of(self).index_put(_places(self, indices), _dense(values), accumulate))


def _places(nested: NestedTensor, indices: Any) -> tuple[Any, ...]:
    if len(indices) == 1 and isinstance(indices[0], NestedTensor):
        return (laid_out("index_put", indices[0], nested),)
    return _steps(nested, indices)


def _dense(value: Any) -> Any:
    return values_of(value) if isinstance(value, NestedTensor) else value


@rule("__setitem__")
def set_(func: Any, self: Any, index: Any, value: Any) -> None:
    if not isinstance(self, NestedTensor):
        raise RuntimeError(
            "a nested tensor cannot be written into a dense one; use values() or to_padded_tensor()"
        )
    parts = index if isinstance(index, tuple) else (index,)
    if isinstance(parts[0], int):
        select(func, self, 0, parts[0])[tuple(parts[1:])] = value
    elif isinstance(parts[0], NestedTensor) and len(parts) == 1 and not isinstance(value, NestedTensor):
        self.masked_fill_(parts[0], value)
    elif all(isinstance(p, torch.Tensor) for p in parts):
        index_put_(func, self, parts, torch.as_tensor(value, dtype=self.dtype, device=self.device))
    else:
        raise refuse("__setitem__")


@rule("masked_select")
def masked_select(func: Any, self: Any, mask: Any) -> Any:
    if not isinstance(self, NestedTensor) or self.dim() != 2:
        raise RuntimeError("masked_select only support 2-D selections currently; use values()[mask.values()]")
    self = without_holes(self)
    chosen = laid_out("masked_select", mask, self).expand(self._values.shape)
    counts = torch.zeros_like(self._offsets[:-1]).index_add(0, owners(self), chosen.to(self._offsets.dtype))
    offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return nested_of(values_of(self).masked_select(chosen), offsets)


@rule("index_fill", "index_add", "index_copy")
def at_inner(
    func: Any, self: NestedTensor, dim: int, index: torch.Tensor, *args: Any, **kwargs: Any
) -> NestedTensor:
    place = inner_dim(func.__name__.partition(".")[0], self, dim)
    plain = [_dense(a) for a in args]
    return wrap(
        func(values_of(self), place, index, *plain, **{k: _dense(v) for k, v in kwargs.items()}), self
    )
