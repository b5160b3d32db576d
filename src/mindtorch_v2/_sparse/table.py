"""Operators by name, as functions over sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from .. import _C
from .._C import Tensor
from .parts import TITLES, all_parts, become, is_sparse, layout_of, title_of

Function = Callable[..., Any]
Kind = TypeVar("Kind", bound=Function)
_FAMILIES = (
    "construction",
    "conversions",
    "copies",
    "elementwise",
    "products",
    "reductions",
    "shapes",
    "gradients",
)
_functions: dict[str, Function] = {}


def sparse(*names: str) -> Callable[[Kind], Kind]:
    """Makes a function that of operators: "add", or "add.Tensor" for one overload. It gets the schema's values."""

    def decorate(function: Kind) -> Kind:
        _functions.update(dict.fromkeys(names, function))
        return function

    return decorate


@cache
def _filled() -> dict[str, Function]:
    for family in _FAMILIES:
        import_module(f"{__package__}.{family}")
    return _functions


def _find(name: str, overload: str) -> Function | None:
    table = _filled()
    return table.get(f"{name}.{overload}") or table.get(name)


def backend_of(values: list[Any]) -> str:
    """PyTorch's word for the layout and device of the first sparse tensor."""
    for value in values:
        for tensor in value if isinstance(value, (list, tuple)) else (value,):
            if is_sparse(tensor):
                kind = "Sparse" if layout_of(tensor) == "sparse_coo" else "SparseCsr"
                device: str = tensor.device.type
                return kind + device.upper()
    return next((v.device.type.upper() for v in values if isinstance(v, Tensor)), "CPU")


# Operators that are others in PyTorch: what its messages call them.
_PUBLIC = {
    "_index": "index.Tensor", "slice.Tensor": "as_strided", "squeeze": "as_strided", "squeeze.dim": "as_strided",
    "split": "as_strided", "split.Tensor": "as_strided", "mean": "mean.dim",
}  # fmt: skip


def refuse(name: str, overload: str, values: list[Any]) -> NotImplementedError:
    full = ".".join(filter(None, (name, overload)))
    full = _PUBLIC.get(full, full)
    return NotImplementedError(
        f"Could not run 'aten::{full}' with arguments from the '{backend_of(values)}' backend. There is no such "
        "operator for sparse tensors; use to_dense() first, or work with values()"
    )


def unsupported(tensor: Tensor) -> RuntimeError:
    """What compressed layouts say of operators that tensors in coordinates have."""
    return RuntimeError(f"unsupported tensor layout: {TITLES[layout_of(tensor)]}")


def _write(target: Tensor, made: Tensor) -> Tensor:
    """Puts a result where it was asked for."""
    if is_sparse(target):
        return become(target, made if is_sparse(made) else made.to_sparse())
    if target.shape != made.shape:
        target.resize_(made.shape)
    return target.copy_(made)


def write_in_place(target: Tensor, made: Tensor) -> Tensor:
    if not _C.can_cast(made.dtype, target.dtype):
        raise RuntimeError(
            f"result type {title_of(made.dtype)} can't be cast to the desired output type {title_of(target.dtype)}"
        )
    if is_sparse(target):
        return become(target, made)
    if target.shape != made.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(made.shape)}"
        )
    return target.copy_(made.to_dense())


def handle(qualified: str, overload: str, values: list[Any]) -> Any:
    """What native code calls instead of an operator with a sparse argument."""
    name = qualified.removeprefix("aten::")
    function = _find(name, overload)
    if overload == "out" or overload.endswith("_out"):
        base = overload.removesuffix("out").removesuffix("_")
        function = _find(name, base) or _find(name, "Tensor")
        if function is None:
            raise refuse(name, overload, values)
        return _write(values[-1], function(*values[:-1]))
    if function is not None:
        return function(*values)
    if name.endswith("_") and not name.endswith("__"):
        fresh = _find(name[:-1], overload)
        if fresh is not None:
            return write_in_place(values[0], fresh(*values))
    raise refuse(name, overload, values)


def each(tensor: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """A tensor with the same places, and what the function makes of the values."""
    layout, indices, plain, values, coalesced = all_parts(tensor)
    return _C._sparse.make(layout, list(tensor.shape), indices, plain, function(values), coalesced)
