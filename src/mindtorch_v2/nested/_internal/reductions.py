"""Sums, extremes and the like, over all, over the ragged dimension, or over others."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from ..._types.size import from_front
from .nested_tensor import (
    NestedTensor,
    components,
    dense_values,
    from_padded,
    lengths_of,
    owners,
    padded,
    values_of,
    wrap,
)
from .pointwise import pointwise, wrapped
from .rules import name_of, rule

# What stands behind the shorter sequences, so that it changes nothing.
_LOWEST = "amax max argmax logsumexp cummax"
_HIGHEST = "amin min argmin cummin"
_NEUTRAL = {"prod": 1, "any": False, "all": True, "count_nonzero": 0, "nansum": 0}
_FIRST = "sum mean prod amax amin any all argmax argmin std var count_nonzero logsumexp nansum nanmean median nanmedian"


def extreme(dtype: torch.dtype, lowest: bool) -> Any:
    """The number that every other is at least, or at most."""
    if dtype is torch.bool:
        return not lowest
    if dtype.is_floating_point:
        return float("-inf") if lowest else float("inf")
    return torch.iinfo(dtype).min if lowest else torch.iinfo(dtype).max


def dims_of(nested: NestedTensor, dim: Any) -> tuple[int, ...]:
    """Dimensions as they count from the front; all of them for None."""
    count = nested.dim()
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return tuple(range(count))
    return tuple(sorted(from_front(d, count) for d in (dim if isinstance(dim, (list, tuple)) else (dim,))))


def _reduce(
    func: Any, self: NestedTensor, dim: Any, before: tuple[Any, ...], after: tuple[Any, ...], kwargs: Any
) -> Any:
    """``before`` and ``after`` are the arguments around the dimensions."""
    name = name_of(func)
    keepdim = bool(kwargs.get("keepdim", False))
    dims = dims_of(self, dim)
    ragged = self._ragged_idx
    one = isinstance(dim, int)

    def over(tensor: torch.Tensor, which: tuple[int, ...]) -> Any:
        return func(tensor, *before, which[0] if one or len(which) == 1 else which, *after, **kwargs)

    if 0 in dims and ragged in dims:
        inner = tuple(d - 1 for d in dims if d)
        if len(dims) == self.dim() and not keepdim:
            return _over_all(func, dense_values(self), before, after, kwargs)
        return _each(over(dense_values(self), inner), lambda t: t.unsqueeze(0) if keepdim else t)
    if 0 in dims:
        raise RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested "
            "tensors; reduce along both, or to_padded_tensor() first"
        )
    if ragged in dims:
        if len(dims) > 1:
            raise RuntimeError(
                f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors; "
                "reduce along one after the other"
            )
        if self._lengths is not None:
            raise RuntimeError(
                f"{name}(): reducing across the ragged dimension is not supported for non-contiguous nested tensors "
                "with holes; use contiguous() first"
            )
        return _over_ragged(func, name, self, over, keepdim, kwargs)
    made = over(values_of(self), tuple(d - 1 for d in dims))
    removed = 0 if keepdim else sum(d < ragged for d in dims)
    return wrapped(made, self, ragged - removed)


def _each(made: Any, function: Any) -> Any:
    return function(made) if isinstance(made, torch.Tensor) else type(made)(map(function, made))


def _over_all(func: Any, values: torch.Tensor, before: Any, after: Any, kwargs: Any) -> Any:
    kwargs = {key: value for key, value in kwargs.items() if key not in ("dim", "keepdim")}
    if func.__name__.partition(".")[0] == "logsumexp":
        return func(values, tuple(range(values.dim())))
    if func.__name__ == "vector_norm" or func.__name__.startswith("linalg_vector_norm"):
        return func(values, *before, **kwargs)
    if func.__name__.startswith("norm"):
        return torch.linalg.vector_norm(values, *before, **kwargs)
    if not isinstance(func, torch._ops.OpOverload):
        return func(values, *before, **kwargs)
    return getattr(torch, func.__name__.partition(".")[0])(values, *before, **kwargs)


def _over_ragged(func: Any, name: str, nested: NestedTensor, over: Any, keepdim: bool, kwargs: Any) -> Any:
    ragged, dtype = nested._ragged_idx, nested.dtype
    if name in ("sum", "mean"):
        made = _sums(nested, kwargs.get("dtype"))
        if name == "mean":
            if not (made.dtype.is_floating_point or made.dtype.is_complex):
                raise RuntimeError(
                    "mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
                    f"dtype. Got: {dtype}"
                )
            counts = lengths_of(nested).to(made.real.dtype if made.dtype.is_complex else made.dtype)
            made = made / counts.view(-1, *(1,) * (made.dim() - 1))
        return made.unsqueeze(ragged) if keepdim else made
    if name in _NEUTRAL:
        return over(padded(nested, _NEUTRAL[name]), (ragged,))
    if name in _LOWEST.split() or name in _HIGHEST.split():
        return over(padded(nested, extreme(dtype, name in _LOWEST.split())), (ragged,))
    parts = [over(c.unsqueeze(0), (ragged,)) for c in components(nested)]
    if isinstance(parts[0], torch.Tensor):
        return torch.cat(parts)
    return type(parts[0])([torch.cat(p) for p in zip(*parts, strict=True)])


def _sums(nested: NestedTensor, dtype: torch.dtype | None) -> torch.Tensor:
    """The sum of each sequence."""
    rows = dense_values(nested).movedim(nested._ragged_idx - 1, 0)
    if dtype is None and not (rows.dtype.is_floating_point or rows.dtype.is_complex):
        dtype = torch.int64
    rows = rows if dtype is None else rows.to(dtype)
    zeros = rows.new_zeros((nested._offsets.shape[0] - 1, *rows.shape[1:]))
    return zeros.index_add(0, owners(nested), rows)


@rule(*_FIRST.split())
def reduction(func: Any, self: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    kwargs = dict(kwargs)
    name = name_of(func)
    rest = list(args)
    dim: Any = kwargs.pop("dim", kwargs.pop("axis", None))
    if dim is None and rest and not (name in ("std", "var") and isinstance(rest[0], bool)):
        dim = rest.pop(0)
    elif rest and not isinstance(rest[0], bool) and rest[0] is None:
        rest.pop(0)
    if name in ("std", "var") and rest:  # std(dim, unbiased, keepdim)
        kwargs["correction"] = int(bool(rest.pop(0)))
    if name in ("std", "var") and "unbiased" in kwargs:
        kwargs["correction"] = int(bool(kwargs.pop("unbiased")))
    if rest:
        kwargs["keepdim"] = rest.pop(0)
    if name in ("median", "nanmedian") and dim is None:
        return func(dense_values(self))
    return _reduce(func, self, dim, (), tuple(rest), kwargs)


@rule("max", "min")
def extremes(func: Any, self: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    if (args and isinstance(args[0], torch.Tensor)) or "other" in kwargs:
        return pointwise(func, self, *args, **kwargs)
    if not args and "dim" not in kwargs:
        return func(dense_values(self))
    dim = args[0] if args else kwargs["dim"]
    keepdim = args[1] if len(args) > 1 else kwargs.get("keepdim", False)
    return _reduce(func, self, dim, (), (), {"keepdim": keepdim})


@rule("aminmax", "var_mean", "std_mean")
def pairs(func: Any, self: NestedTensor, dim: Any = None, **kwargs: Any) -> Any:
    if dim is None and func.__name__ == "aminmax":
        return func(dense_values(self))
    return _reduce(func, self, dim, (), (), kwargs)


@rule("norm", "linalg_vector_norm")
def norm(
    func: Any,
    self: Any,
    p: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    **kwargs: Any,
) -> Any:
    order = kwargs.get("ord", p)
    order = 2 if order in (None, "fro") else order
    named = {"keepdim": keepdim} | ({} if dtype is None else {"dtype": dtype})
    return _reduce(torch.linalg.vector_norm, self, dim, (order,), (), named)


@rule("softmax", "log_softmax", "softmin", "cumsum", "cumprod", "logcumsumexp", "sort", "argsort", "cummax", "cummin",
      "flip", "_softmax", "_log_softmax")  # fmt: skip
def along(func: Any, self: NestedTensor, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Results of the same shape, each sequence for itself."""
    name = func.__name__.partition(".")[0]
    if isinstance(dim, bool):  # sort(descending)
        dim, kwargs = None, kwargs | {"descending": dim}
    if dim is None and name in ("sort", "argsort"):
        dim = -1
    if dim is None and name != "flip":
        raise RuntimeError(f"{name}(): a nested tensor needs dim")
    dims = dims_of(self, dim)
    if 0 in dims:
        raise RuntimeError(
            f"{name}(): not supported when reducing across the batch dimension for NestedTensor"
        )
    if self._ragged_idx in dims and self._lengths is not None:
        raise RuntimeError(
            f"{name}(): not supported where lengths is not None if reducing across the ragged dimension for "
            "NestedTensor; use contiguous() first"
        )
    if self._ragged_idx not in dims:
        inner = tuple(d - 1 for d in dims)
        return wrapped(
            func(values_of(self), inner if isinstance(dim, (list, tuple)) else inner[0], *args, **kwargs),
            self,
        )
    if name in ("softmax", "log_softmax", "softmin", "_softmax", "_log_softmax"):
        if self.dtype.is_floating_point:
            filling = extreme(self.dtype, name != "softmin")
            return from_padded(func(padded(self, filling), self._ragged_idx, *args, **kwargs), self)
    made = [func(c.unsqueeze(0), dim, *args, **kwargs) for c in components(self)]
    return _joined(made, self)


def _joined(made: list[Any], like: NestedTensor) -> Any:
    """Results for each sequence, with a batch of one, in one nested tensor."""
    if not isinstance(made[0], torch.Tensor):
        return type(made[0])([_joined(list(part), like) for part in zip(*made, strict=True)])
    return wrap(torch.cat([m.squeeze(0) for m in made], dim=like._ragged_idx - 1), like)


@rule("topk", "kthvalue", "glu", "index_select", "gather", "renorm")
def along_inner(func: Any, self: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    """Those that change the size of a dimension, which may not be the ragged one."""
    name = func.__name__.partition(".")[0]
    at = {"topk": 1, "kthvalue": 1, "glu": 0, "index_select": 0, "gather": 0, "renorm": 1}[name]
    given = list(args)
    dim = given[at] if len(given) > at else kwargs.get("dim", -1)
    (place,) = dims_of(self, dim)
    if place in (0, self._ragged_idx):
        what = "dim=0" if place == 0 else "ragged dim"
        raise RuntimeError(
            f"{name}(): not supported for NestedTensor on {what}; use it on each tensor of unbind()"
        )
    if len(given) > at:
        given[at] = place - 1
    else:
        kwargs["dim"] = place - 1
    plain = [values_of(a) if isinstance(a, NestedTensor) else a for a in given]
    named = {key: values_of(a) if isinstance(a, NestedTensor) else a for key, a in kwargs.items()}
    made = func(values_of(self), *plain, **named)
    lower = name == "kthvalue" and not kwargs.get("keepdim") and place < self._ragged_idx
    return wrapped(made, self, self._ragged_idx - lower)
