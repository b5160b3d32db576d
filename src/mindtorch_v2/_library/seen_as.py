"""What handlers see of a call.

Note [What handlers see]
Handlers (``__torch_dispatch__``, Note [Interception] in csrc/core/intercept.h) get PyTorch's operators. A row that is
not one of them says with ``seen_as:`` which it is, as a Python expression over its arguments: in
``aten.index.Tensor(self, indices)`` a call of ``aten`` stands for the operator that is handed over, and a name without
a call for one with the same arguments. Calls among the arguments are handed over before; ``[1]`` takes one of several
results, ``[0, 2]`` some. The other functions that an expression may call are below. An operator that is there for
handlers alone is in ``handler_operators.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import Any

from .. import _C
from . import overloads
from .handler_operators import INTERPOLATIONS

HandOver = Callable[["overloads.OpOverload", tuple[Any, ...], dict[str, Any]], Any]


class _Name:
    """An operator, in an expression."""

    def __init__(self, name: str, overload: str = "") -> None:
        self._name, self._overload = name, overload

    def __getattr__(self, overload: str) -> _Name:
        return _Name(self._name, "" if overload == "default" else overload)

    def __call__(self, /, *args: Any, **kwargs: Any) -> _Call:
        return _Call(self, args, kwargs)

    def operator(self) -> overloads.OpOverload:
        return overloads.by_name(self._name, self._overload)


class _Names:
    def __getattr__(self, name: str) -> _Name:
        return _Name(f"aten::{name}")

    __getitem__ = __getattr__


class _Call:
    """An operator with its arguments, some of which may be calls."""

    def __init__(self, name: _Name, args: tuple[Any, ...], kwargs: dict[str, Any], taken: Any = None) -> None:
        self._name, self._args, self._kwargs, self._taken = name, args, kwargs, taken

    def __getitem__(self, taken: Any) -> _Call:
        return _Call(self._name, self._args, self._kwargs, taken)

    def hand_over(self, to: HandOver) -> Any:
        def value(given: Any) -> Any:
            if isinstance(given, list):
                return [value(item) for item in given]
            return given.hand_over(to) if isinstance(given, _Call) else given

        args = tuple(map(value, self._args))
        kwargs = {name: value(given) for name, given in self._kwargs.items()}
        operator = self._name.operator()
        made = to(operator, *operator.shortened(args, kwargs))
        if isinstance(self._taken, tuple):
            return tuple(made[place] for place in self._taken)
        return made if self._taken is None else made[self._taken]


@functools.cache
def _expressions() -> dict[tuple[str, str], CodeType]:
    return {
        (name, overload): compile(text, f"seen_as of {name}", "eval")
        for name, overload, text in _C._dispatch.seen_as()
    }


def hand_over(name: str, overload: str, values: list[Any], to: HandOver) -> Any:
    """Gives a call that native code made to ``to``, as PyTorch has it, and returns the results of the row."""
    expression = _expressions().get((name, overload))
    if expression is None:
        operator = overloads.overload(name, overload)
        return to(operator, *operator.split(values))
    row = overloads.native(name, overload)
    given = dict(zip((a.name for a in row._schema.arguments), values, strict=True))
    seen = eval(expression, _FUNCTIONS, given)
    if isinstance(seen, _Name):
        operator = seen.operator()
        return to(operator, *operator.split(values))
    return _as_results(row, seen.hand_over(to) if isinstance(seen, _Call) else seen)


def _as_results(row: overloads.OpOverload, made: Any) -> Any:
    """As many as the row has: what PyTorch's operator does not give nobody asked for."""
    count = len(row._schema.returns)
    if count == 1:
        return made
    made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    return (*made, *[None] * count)[:count]


# ---- what expressions call ---------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return isinstance(value, _C.Tensor) and _C._dispatch.is_number(value)


def _number(value: Any) -> Any:
    """The number that a tensor of native code's stands for."""
    before = _C._dispatch.set_off(True)
    try:
        return value.item()
    finally:
        _C._dispatch.set_off(before)


def _mask(needs: int, count: int = 3) -> list[bool]:
    return [bool(needs >> place & 1) for place in range(count)]


def _output_padding(
    input: Any, weight: Any, output_size: Any, stride: Any, padding: Any, dilation: Any
) -> list[int]:
    sizes = zip(input.shape[2:], weight.shape[2:], output_size, stride, padding, dilation, strict=True)
    return [wanted - ((n - 1) * s - 2 * p + d * (k - 1) + 1) for n, k, wanted, s, p, d in sizes]


def _convolved(input: Any, weight: Any, stride: Any, padding: Any, dilation: Any) -> list[int]:
    """The shape of a convolution's result."""
    sizes = zip(input.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    return [
        input.shape[0],
        weight.shape[0],
        *((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes),
    ]


def _edges(pad: list[int], mode: int) -> str:
    return f"{('reflection', 'replication')[mode]}_pad{len(pad) // 2}d"


def _wrapped(tensor: Any, pad: list[int]) -> Any:
    """The last dimensions continued by their other ends."""
    shape = list(tensor.shape)
    for place in range(len(pad) // 2):
        dim, (before, after) = len(shape) - 1 - place, pad[2 * place : 2 * place + 2]
        size = shape[dim]
        if before or after:
            parts = [(size - before, size), (0, size), (0, after)]
            tensor = _ATEN.cat([_ATEN.slice.Tensor(tensor, dim, *part) for part in parts], dim)
        shape[dim] += before + after
    return tensor


def _unwrapped(grad: Any, pad: list[int]) -> Any:
    """The gradient of that."""
    shape = list(grad.shape)
    for place in range(len(pad) // 2 - 1, -1, -1):
        dim, (before, after) = len(shape) - 1 - place, pad[2 * place : 2 * place + 2]
        size = shape[dim] - before - after
        if before or after:
            middle, end = before + size, before + size + after
            first = _ATEN.slice.Tensor(grad, dim, 0, before)
            last = _ATEN.slice.Tensor(grad, dim, middle, end)
            around = [0, 0] * (len(shape) - 1 - dim)
            inner = _ATEN.slice.Tensor(grad, dim, before, middle)
            inner = _ATEN.add.Tensor(inner, _ATEN.constant_pad_nd(first, [*around, size - before, 0]))
            grad = _ATEN.add.Tensor(inner, _ATEN.constant_pad_nd(last, [*around, 0, size - after]))
        shape[dim] = size
    return grad


def _inside(shape: Any, pad: list[int]) -> list[int]:
    """The shape before padding."""
    sizes = list(shape)
    for place in range(len(pad) // 2):
        sizes[-1 - place] -= pad[2 * place] + pad[2 * place + 1]
    return sizes


def _interpolation(mode: str, sizes: list[int]) -> str:
    return INTERPOLATIONS[mode, len(sizes)]


def _corners(mode: str, sizes: list[int], corners: bool, scales: list[float]) -> list[Any]:
    """The arguments of an interpolation behind the sizes."""
    given = [scale if scale > 0 else None for scale in scales] or [None] * len(sizes)
    return given if mode.startswith("nearest") else [corners, *given]


def _scattered(name: str, size: list[int], spatial: int, values: Any, indices: Any) -> _Call:
    """Values at the places of planes of zeros."""
    flat = [*size[:-spatial], _product(size[-spatial:])]
    zeros = _ATEN.new_zeros(values, flat)
    at, what = (_ATEN.flatten.using_ints(each, -spatial) for each in (indices, values))
    scatter = _ATEN.scatter.src if name == "scatter" else _ATEN.scatter_add
    return _ATEN.view(scatter(zeros, -1, at, what), size)


def _product(sizes: Any) -> int:
    return functools.reduce(lambda a, b: a * b, sizes, 1)


def _dim_by_dim(name: str, tensor: Any, dims: Any, keepdim: bool, dtype: Any) -> Any:
    """A reduction that PyTorch has for one dimension, over several."""
    count = tensor.dim()
    wanted = range(count) if dims is None else [dim % count for dim in dims]
    for dim in sorted(wanted, reverse=True):
        tensor = _ATEN[name].dim_int(tensor, dim, keepdim, dtype=dtype)
    return tensor


_ATEN = _Names()
_FUNCTIONS: dict[str, Any] = {
    "aten": _ATEN, "mask": _mask, "output_padding": _output_padding, "convolved": _convolved, "edges": _edges,
    "wrapped": _wrapped, "unwrapped": _unwrapped, "inside": _inside, "interpolation": _interpolation,
    "corners": _corners, "scattered": _scattered, "in_backward": _C._dispatch.in_backward,
    "len": len, "list": list, "int": int, "dim_by_dim": _dim_by_dim, "is_number": _is_number, "number": _number,
}  # fmt: skip
