"""Operators of the software NPU that the table defines by a family and a functor: which ACLNN function a row is the
definition of, and the call of the family's template that computes it."""

from __future__ import annotations

from functools import singledispatch

from . import schema_types
from .cells import VendorCall
from .families import Binary, Compare, Elementwise, Predicate, Reduce, Templated

Parameter = tuple[str, str]  # of an ACLNN function: its C type and name


def defined_call(row: Templated) -> VendorCall | None:
    """The row's ACLNN call, if the functor is what that function computes. A mode chooses between functors, which is
    written by hand; and isnan(x) is aclnnNeTensor(x, x): it uses a function, it does not define it."""
    call = row.cells.get("npu")
    if not isinstance(call, VendorCall):
        return None
    given = call.arguments
    if len({*given}) != len(given) or any(text.lstrip("-").isdigit() for text in given):
        return None
    flags = {a.name for a in row.schema.arguments if a.type is schema_types.BOOL}
    return None if isinstance(row, Binary) and flags & {*given} else call


def _argument(parameter: Parameter) -> str:
    return f'Argument{{{parameter[1]}, "{parameter[1]}"}}'


@singledispatch
def plan(row: Templated, function: str, parameters: list[Parameter]) -> str:
    """The software NPU's call for an ACLNN function; roles come from the parameters' types."""
    raise NotImplementedError(f"{row.source}: family {row.family} has no plan")


@plan.register
def _(row: Elementwise, function: str, parameters: list[Parameter]) -> str:
    operands = ", ".join(_argument(p) for p in parameters[: row.operands])
    for kind, name in parameters[row.operands : -1]:
        if "aclScalar" not in kind:
            raise ValueError(f"{row.source}: parameter {name} of {function} is {kind}, wanted a scalar")
    numbers = [f'plan.scalar({name}, "{name}")' for _, name in parameters[row.operands : -1]]
    array = f"std::array<Scalar, {len(numbers)}>{{{', '.join(numbers)}}}"
    out = _argument(parameters[-1])
    return f"family::{row.family}<mt::kernels::{row.cpu}>(plan, {operands}, {array}, {out});"


@plan.register
def _(row: Predicate, function: str, parameters: list[Parameter]) -> str:
    arguments = f"{_argument(parameters[0])}, {_argument(parameters[-1])}"
    return f"family::predicate<mt::kernels::{row.cpu}>(plan, {arguments});"


@plan.register
def _(row: Compare, function: str, parameters: list[Parameter]) -> str:
    sides = ", ".join(_argument(p) for p in (*parameters[:2], parameters[-1]))
    return f"family::compare<mt::kernels::{row.cpu}>(plan, {sides});"


@plan.register
def _(row: Reduce, function: str, parameters: list[Parameter]) -> str:
    def named(kind: str) -> str:
        for spelled, name in reversed(parameters[1:-1]):
            if kind in spelled:
                return name
        raise ValueError(f"{row.source}: {function} has no {kind} to reduce by")

    how = f"{named('aclIntArray')}, {named('bool')}"
    ends = _argument(parameters[0]), _argument(parameters[-1])
    return f"family::reduce<mt::kernels::{row.cpu}>(plan, {ends[0]}, {how}, {ends[1]});"
