"""generated/operators: every C++ function of ops:: by its operator's name, callable with values (core/operators.h)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from . import dispatch
from .dispatch import BANNER
from .families.kernels import InPlace
from .row import Row, areas

_OPTIONS = ("ScalarType? dtype=None", "Layout? layout=None", "Device? device=None", "bool? pin_memory=None")


@dataclass(frozen=True)
class _Function:
    name: str  # in ops::
    overload: str
    result: str
    outs: tuple[str, ...] = ()


def _functions(row: Row) -> Iterator[_Function]:
    """The row's functions in ops::, which its declarations are."""
    schema = row.schema
    declared = {text.partition("(")[0].split()[-1] for text in row.declarations()}
    if row.cpp_name in declared:
        result = "const Tensor&" if isinstance(row, InPlace) else schema.return_type
        yield _Function(row.cpp_name, schema.overload, result)
    if f"{row.cpp_name}_" in declared:
        result = "const Tensor&" if row.inplace_is_method else "void"
        yield _Function(f"{row.cpp_name}_", schema.overload, result)
    if f"{row.cpp_name}_out" in declared:
        outs = tuple(dispatch.out_names(row))
        overload = dispatch.out_overload(row)
        yield _Function(f"{row.cpp_name}_out", overload, "const Tensor&" if len(outs) == 1 else "void", outs)


def _entry(row: Row, function: _Function) -> str:
    types = [a.type.cpp for a in row.schema.arguments] + ["const Tensor&"] * len(function.outs)
    extra = _OPTIONS if row.factory else tuple(f"Tensor(a!) {name}" for name in function.outs)
    name = row.cpp_name if function.outs else function.name
    schema = row.schema.in_place() if function.name == f"{row.cpp_name}_" else row.schema
    call = f"call{'_factory' if row.factory else ''}<&ops::{function.name}>"
    return (
        f'    {{"aten::{name}", "{function.overload}", "{schema.text(*extra)}",\n'
        f"     &With<{', '.join([function.result, *types])}>::{call}}},"
    )


def source(rows: list[Row], area: str) -> str:
    entries = [_entry(row, function) for row in rows if row.in_cpp for function in _functions(row)]
    if not entries:
        return ""
    return "\n".join([
        BANNER,
        '#include "core/operators.h"',
        f'#include "generated/ops/{area}.h"\n',
        "namespace mt {\n",
        f"void add_{area}_operators();\n",
        f"void add_{area}_operators() {{",
        "  static constexpr Operator operators[] = {",
        *entries,
        "  };",
        "  add_operators(operators);",
        "}",
        "\n}  // namespace mt",
        "",
    ])  # fmt: skip


def register_source(rows: list[Row]) -> str:
    """What adds them all."""
    names = [area for area in areas(rows) if source([r for r in rows if r.area == area], area)]
    return "\n".join([
        BANNER,
        '#include "ops/register_operators.h"\n',
        "namespace mt {\n",
        *[f"void add_{name}_operators();" for name in names],
        "\nvoid register_operators() {",
        *[f"  add_{name}_operators();" for name in names],
        "}",
        "\n}  // namespace mt",
        "",
    ])  # fmt: skip
