"""generated/operators: every C++ function of ops:: by its operator's name, callable with values (core/operators.h)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from . import dispatch, tags
from .dispatch import BANNER
from .families.kernels import InPlace
from .row import Row, areas

_OPTIONS = ("ScalarType? dtype=None", "Layout? layout=None", "Device? device=None", "bool? pin_memory=None")


@dataclass(frozen=True)
class Function:
    name: str  # in ops::
    overload: str
    result: str
    outs: tuple[str, ...] = ()
    variant: str = "function"


def functions(row: Row) -> Iterator[Function]:
    """The row's functions in ops::, which its declarations are."""
    schema = row.schema
    declared = {text.partition("(")[0].split()[-1] for text in row.declarations()}
    if row.cpp_name in declared:
        result = "const Tensor&" if isinstance(row, InPlace) else schema.return_type
        yield Function(row.cpp_name, schema.overload, result)
    if f"{row.cpp_name}_" in declared:
        result = "const Tensor&" if row.inplace_is_method else "void"
        yield Function(f"{row.cpp_name}_", schema.overload, result, variant="inplace")
    if f"{row.cpp_name}_out" in declared:
        outs = tuple(dispatch.out_names(row))
        overload = dispatch.out_overload(row)
        result = "const Tensor&" if len(outs) == 1 else "void"
        yield Function(f"{row.cpp_name}_out", overload, result, outs, "out")


def _known_as(row: Row, function: Function) -> str:
    """The name that its scope has: aten::add_, torchvision::nms."""
    return f"{row.qualified_name}_" if function.variant == "inplace" else row.qualified_name


def _entry(row: Row, function: Function) -> str:
    types = [a.type.cpp for a in row.schema.arguments] + ["const Tensor&"] * len(function.outs)
    extra = _OPTIONS if row.factory else tuple(f"Tensor(a!) {name}" for name in function.outs)
    schema = row.schema.in_place() if function.name == f"{row.cpp_name}_" else row.schema
    call = f"call{'_factory' if row.factory else ''}<&ops::{function.name}>"
    return (
        f'    {{"{_known_as(row, function)}", "{function.overload}", "{schema.text(*extra)}",\n'
        f"     &With<{', '.join([function.result, *types])}>::{call}}},"
    )


def source(rows: list[Row], area: str) -> str:
    entries = [_entry(row, function) for row in rows if row.in_cpp for function in functions(row)]
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


def _seen(rows: list[Row]) -> list[str]:
    """What handlers see of a row that is not PyTorch's: Note [What handlers see] in _library/seen_as.py."""
    return [
        f'    {{"{_known_as(row, function)}", "{function.overload}", {_quoted(row.seen_as[function.variant])}}},'
        for row in rows
        if row.in_cpp and row.seen_as
        for function in functions(row)
        if function.variant in row.seen_as
    ]


def _tags(rows: list[Row]) -> list[str]:
    """What kinds of operators they are, where there is something to say: codegen/tags.py."""
    found = tags.of_rows(rows)
    entries = []
    for row in rows:
        text = " ".join(found[id(row)])
        if not text:
            continue
        if not row.in_cpp:
            names = {(f"{row.qualified_name}{'_' * (v == 'inplace')}") for v in row.variants if v != "out"}
            entries += [(name, row.schema.overload, text) for name in sorted(names)]
        else:
            entries += [(_known_as(row, each), each.overload, text) for each in functions(row)]
    return [f'    {{"{name}", "{overload}", "{text}"}},' for name, overload, text in entries]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def _in_python(rows: list[Row]) -> list[str]:
    """Operators of PyTorch's that are composed in Python."""
    return [
        f'    {{"{row.qualified_name}", "{row.schema.overload}", {_quoted(row.schema.text())}}},'
        for row in rows
        if not row.in_cpp
    ]


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
        "\nstd::span<const NamedText> seen_as() {",
        "  static constexpr NamedText all[] = {",
        *_seen(rows),
        "  };",
        "  return all;",
        "}",
        "\nstd::span<const NamedText> tags_of_operators() {",
        "  static constexpr NamedText all[] = {",
        *_tags(rows),
        "  };",
        "  return all;",
        "}",
        "\nstd::span<const NamedText> operators_in_python() {",
        "  static constexpr NamedText all[] = {",
        *_in_python(rows),
        "  };",
        "  return all;",
        "}",
        "\n}  // namespace mt",
        "",
    ])  # fmt: skip
