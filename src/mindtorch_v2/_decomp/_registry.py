"""The tables of decompositions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._library.overloads import OpOverloadPacket

Table = dict[Any, Callable[..., Any]]

global_decomposition_table: dict[str, Table] = defaultdict(dict)
decomposition_table = global_decomposition_table["post_autograd"]
pre_autograd_decomposition_table = global_decomposition_table["pre_autograd"]
meta_table = global_decomposition_table["meta"]


def _overloads(operators: Any) -> Iterable[Any]:
    """The overloads of an operator, of each in a list, or the overload itself."""
    if isinstance(operators, (list, tuple)):
        for each in operators:
            yield from _overloads(each)
    elif isinstance(operators, OpOverloadPacket):
        yield from (getattr(operators, name) for name in operators.overloads())
    else:
        yield operators


def register_decomposition(
    aten_op: Any, registry: Table | None = None, *, type: str = "post_autograd", unsafe: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function stands for an operator (all its overloads), an overload, or a list of them."""
    if type not in ("post_autograd", "pre_autograd", "meta"):
        raise AssertionError(f"type must be one of post_autograd, pre_autograd, meta, got {type!r}")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        table = global_decomposition_table[type] if registry is None else registry
        for overload in _overloads(aten_op):
            if overload in table:
                raise RuntimeError(f"duplicate registrations for {overload}")
            table[overload] = function
        return function

    return register


def get_decompositions(aten_ops: Sequence[Any], type: str = "post_autograd") -> Table:
    """Those of the table that are of these operators."""
    table = global_decomposition_table[type]
    return {overload: table[overload] for overload in _overloads(list(aten_ops)) if overload in table}


def remove_decompositions(decompositions: Table, aten_ops: Sequence[Any]) -> None:
    """Takes operators out of a table."""
    for overload in _overloads(list(aten_ops)):
        decompositions.pop(overload, None)


def core_aten_decompositions() -> Table:
    """A table of its own of all decompositions of operators that are not among PyTorch's core ones."""
    return dict(decomposition_table)
