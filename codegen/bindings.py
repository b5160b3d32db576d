"""Python bindings: one fast-call function per operator name, the Tensor type's methods and number slots."""

from __future__ import annotations

from collections import defaultdict

from . import number_slots, schema_types
from .dispatch import BANNER
from .homes import homes
from .reader import Entry
from .row import MODULES, Row, areas
from .schema import Argument
from .schema_types import ANY, LAYOUT, OPTIONAL_TENSOR, OUT_TENSORS, SCALAR, TENSORS

MOST_PARAMETERS = 16  # of one callable; the parser makes room for so many (generated/bindings/limits.h)
_OPTIONS = tuple(
    Argument(name, type_, default, keyword_only=True)
    for name, type_, default in (
        ("dtype", schema_types.OPTIONAL_SCALAR_TYPE, "None"), ("layout", LAYOUT, "None"),
        ("device", schema_types.OPTIONAL_DEVICE, "None"), ("pin_memory", schema_types.OPTIONAL_BOOL, "False"),
        ("requires_grad", schema_types.OPTIONAL_BOOL, "False"),
    )
)  # fmt: skip
_OUT = Argument("out", OPTIONAL_TENSOR, "None", keyword_only=True)
_OUTS = Argument("out", OUT_TENSORS, "None", keyword_only=True)  # of operators with several results


def _includes(used: list[str]) -> str:
    """Only the operators that the file binds, so that a new row elsewhere does not compile it again."""
    return "\n".join([
        '#include "bindings/overrides.h"',
        '#include "bindings/parser.h"',
        '#include "bindings/python_op.h"',
        '#include "bindings/results.h"',
        '#include "bindings/tensor_object.h"',
        *[f'#include "generated/ops/{area}.h"' for area in used],
        "\nnamespace mt::bindings {",
        "namespace {\n",
    ])  # fmt: skip


def python_name(argument: Argument, method: bool) -> str:
    """PyTorch's functions call the tensor that methods are called on `input`."""
    renamed = argument.name == "self" and argument.type is not TENSORS and not method
    return "input" if renamed else argument.name


def python_arguments(row: Row, suffix: str = "") -> list[Argument]:
    """The schema's arguments and what Python adds: factory options, out=."""
    arguments = list(row.schema.arguments)
    if row.factory:
        arguments += _OPTIONS
    if "out" in row.variants and not suffix:
        arguments.append(_OUT if len(row.schema.returns) == 1 else _OUTS)
    return arguments


def check(row: Row, entry: Entry) -> None:
    """Refuses a row that the parser has no room for."""
    count = len(python_arguments(row))
    if row.variants != ("cpp",) and count > MOST_PARAMETERS:
        entry.fail(
            f"{count} parameters (with out= and the options of factories), but the parser has room for "
            f"{MOST_PARAMETERS}: raise MOST_PARAMETERS in codegen/bindings.py",
            "op",
        )


def limits_header() -> str:
    return "\n".join([
        BANNER + "#pragma once\n",
        "namespace mt::bindings {\n",
        "// Of one callable; codegen refuses a row with more.",
        f"inline constexpr int kMostParameters = {MOST_PARAMETERS};",
        "\n}  // namespace mt::bindings",
        "",
    ])  # fmt: skip


def signature_text(row: Row, arguments: list[Argument], method: bool) -> str:
    parts, star = [], False
    shown = arguments[1:] if method else arguments
    if row.factory and shown[-1].name == "out":  # PyTorch lists it before the options
        shown = [*row.schema.arguments, _OUT, *_OPTIONS]
    for a in shown:
        if a.keyword_only and not star:
            parts.append("*")
            star = True
        default = f" = {a.default}" if a.default is not None else ""
        parts.append(f"{a.type.shown} {python_name(a, method)}{default}")
    return f"({', '.join(parts)})"


def _taken_for_tensors(row: Row) -> bool:
    """PyTorch's messages do not speak of such overloads: its parser takes their numbers for tensors."""
    return row.number_as_tensor and any(a.type is SCALAR and not a.keyword_only for a in row.schema.arguments)


def _parameter(a: Argument, method: bool) -> str:
    nullable = a.type.nullable or a.default == "[]"  # None stands for no ints where that is the default
    flags = (a.default is not None, nullable, a.keyword_only, a.type.symbolic)
    spelled = ", ".join("true" if flag else "false" for flag in flags)
    return f'{{"{python_name(a, method)}", Kind::{a.type.kind}, {spelled}}}'


def _default_in_python(a: Argument) -> str | None:
    """PyTorch's parser reads the default `Mean` of a reduction as the number 0: torch.kl_div(x, y) reduces nothing,
    though torch.ops.aten.kl_div(x, y) gives the mean."""
    return "0" if a.name == "reduction" and a.default == "1" else a.cpp_default


def values(row: Row) -> list[str]:
    """The arguments as the parser gives them."""
    return [a.type.value(i, _default_in_python(a)) for i, a in enumerate(row.schema.arguments)]


def named_results(row: Row) -> bool:
    """Whether results come as a named tuple. Those that PyTorch does not name are result0, result1… in the table."""
    return len(row.schema.returns) > 1 and row.schema.returns[0].name != "result0"


def named_type(row: Row) -> str:
    """The declaration of the named tuple that holds a row's results."""
    fields = ", ".join(f'"{r.name}"' for r in row.schema.returns)
    return f'static PyTypeObject* type = return_type("torch.return_types.{row.cpp_name}", {{{fields}}});'


def result(row: Row, call: str) -> str:
    returns = row.schema.returns
    if returns[0].type is ANY:
        return f"return {call};"
    if returns[0].type is TENSORS:
        return f"return wrap_list({call});"
    if named_results(row):
        return f"{named_type(row)}\n        return wrap_named(type, {call});"
    return f"return wrap_tuple({call});" if len(returns) > 1 else f"return wrap({call});"


def _out_call(row: Row, values: list[str], at: int) -> list[str]:
    """out= was given: one tensor, or a tuple of as many as there are results."""
    returns = row.schema.returns
    if len(returns) == 1:
        return [
            f"        if (b.given({at})) {{",
            f"          ops::{row.cpp_name}_out({', '.join([*values, f'b.tensor({at})'])});",
            f"          return returned(b.at({at}));",
            "        }",
        ]
    outs = [f"outs[{i}]" for i in range(len(returns))]
    return [
        f"        if (b.given({at})) {{",
        f"          const std::vector<Tensor> outs = b.out_tensors({at}, {len(returns)});",
        f"          ops::{row.cpp_name}_out({', '.join([*values, *outs])});",
        f"          {named_type(row)}",
        f"          return wrap_named(type, {{{', '.join(outs)}}});",
        "        }",
    ]


def native_call(row: Row, suffix: str = "", *extra: str) -> str:
    return f"ops::{row.cpp_name}{suffix}({', '.join([*values(row), *extra])})"


def inplace_call(row: Row, suffix: str, target: int = 0) -> list[str]:
    """Writes the argument of that index and returns it."""
    return [f"        {native_call(row, suffix)};", f"        return returned(b.at({target}));"]


def fresh_call(row: Row) -> list[str]:
    out = _out_call(row, values(row), len(row.schema.arguments)) if "out" in row.variants else []
    return [*out, "        " + result(row, native_call(row))]


def factory_call(row: Row, keeps_out_shape: bool, tells_of_resizing: bool) -> list[str]:
    at = len(row.schema.arguments)
    into = at + len(_OPTIONS)
    call = native_call(row, "", "options")
    tells = ", true" if tells_of_resizing else ""
    out = [
        f"        if (b.given({into})) {{",
        f"          take_options_of(b.tensor({into}), options);",
        f"          write_{'numbers' if keeps_out_shape else 'made'}(b.tensor({into}), {call}, options{tells});",
        f"          return returned(b.at({into}));",
        "        }",
    ]
    return [
        f"        TensorOptions options = b.options({at});",
        *(out if "out" in row.variants else []),
        f"        return wrap_made({call}, options);",
    ]


def _callable(name: str, rows: list[Row], method: bool, suffix: str = "") -> str:
    """`name` as Python calls it: overloads in table order, the first that fits wins."""
    identifier = f"{'method' if method else 'function'}_{name}"
    shown = f', "{rows[0].shown_as}"' if rows[0].shown_as else ""
    lines, signatures = [], []
    for i, row in enumerate(rows):
        arguments = python_arguments(row, suffix)
        positional = sum(not a.keyword_only for a in arguments)
        lines.append(
            f"Parameter {identifier}_{i}[] = {{{', '.join(_parameter(a, method) for a in arguments)}}};"
        )
        text = "" if _taken_for_tensors(row) else signature_text(row, arguments, method)
        signatures.append(f'{{"{text}", {identifier}_{i}, {len(arguments)}, {positional}}}')
    lines += [
        f"PyObject* {identifier}({'PyObject* self' if method else 'PyObject*'}, PyObject* const* args, "
        "Py_ssize_t count, PyObject* keywords) {",
        f'  static const Overloads overloads("{name}", {{{", ".join(signatures)}}}{shown});',
        "  return guarded([&]() -> PyObject* {",
        "    Bound b;",
        f"    switch (overloads.match(b, {'self' if method else 'nullptr'}, args, count, keywords)) {{",
    ]
    for i, row in enumerate(rows):
        lines += [f"      case {i}: {{", *row.python_call(suffix), "      }"]
    return "\n".join([*lines, "      default: return b.overridden();", "    }", "  });", "}", ""])


def _by_name(rows: list[Row], variant: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if variant in row.variants:
            groups[row.cpp_name].append(row)
    return groups


def _entry(python_name: str, identifier: str) -> str:
    cast = f"reinterpret_cast<PyCFunction>(reinterpret_cast<void*>({identifier}))"
    return f'{{"{python_name}", {cast}, METH_FASTCALL | METH_KEYWORDS, nullptr}}'


def callable_names(group: list[Row]) -> list[str]:
    """The names under which Python finds a group of overloads."""
    return [group[0].public_name, *dict.fromkeys(alias for row in group for alias in row.aliases)]


def has_inplace_method(row: Row) -> bool:
    """torch._C._nn.elu_ and torch._foreach_add_ are no methods."""
    return row.inplace_is_method and not row.module


def _sources(rows: list[Row], method: bool) -> dict[str, str]:
    """By file of the table: its operators as functions or methods. Overloads go with the first of them."""
    word = "method" if method else "function"
    plain = {name: (group, "") for name, group in _by_name(rows, word).items()}
    inplace = {
        f"{name}_": (group, "_")
        for name, group in _by_name(rows, "inplace").items()
        if not method or has_inplace_method(group[0])
    }
    by_area: dict[str, dict[str, tuple[list[Row], str]]] = {area: {} for area in areas(rows)}
    python_names = {}
    for name, (group, suffix) in [*plain.items(), *inplace.items()]:
        first, *others = callable_names(group)
        # Another name is a callable of its own: messages have its name, and those who are asked are given it.
        for own, shown in [(name, first), *((other + suffix, other) for other in others)]:
            by_area[group[0].area][own] = (group, suffix)
            python_names[own] = shown + suffix
    sources = {}
    where = homes(rows)
    for area, callables in by_area.items():
        bound = [row for group, _ in callables.values() for row in group]
        called = {home for row in bound for home in where.get(row.bound_to, [])}
        used = sorted({row.area for row in bound} | called)
        adds = []
        for name, (group, _) in callables.items():
            table = "methods" if method else f'tables["{group[0].module}"]'
            adds.append(f"  {table}.push_back({_entry(python_names[name], f'{word}_{name}')});")
        parameter = "std::vector<PyMethodDef>& methods" if method else "FunctionTables& tables"
        sources[area] = "\n".join([
            BANNER,
            _includes(used),
            *[_callable(name, group, method, suffix) for name, (group, suffix) in callables.items()],
            "}  // namespace\n",
            f"void add_{area}_{word}s([[maybe_unused]] {parameter}) {{",
            *adds,
            "}\n",
            "}  // namespace mt::bindings",
            "",
        ])  # fmt: skip
    return sources


def functions_sources(rows: list[Row]) -> dict[str, str]:
    return _sources(rows, method=False)


def methods_sources(rows: list[Row]) -> dict[str, str]:
    return _sources(rows, method=True)


def index_source(rows: list[Row]) -> str:
    """What the files add, in one place, and the number slots of the Tensor type."""
    slots, entries = number_slots.definitions(rows)
    used = sorted({row.area for row in rows if row.special})
    declarations = [
        f"void add_{area}_functions(FunctionTables& tables);\n"
        f"void add_{area}_methods(std::vector<PyMethodDef>& methods);"
        for area in areas(rows)
    ]
    named = {row.cpp_name: row for row in rows if named_results(row)}
    return "\n".join([
        BANNER,
        '#include "bindings/decline_slot.h"',
        '#include "bindings/owned.h"',
        '#include "bindings/return_types.h"',
        '#include "infer/checks.h"',
        _includes(used),
        *slots,
        "}  // namespace\n",
        *declarations,
        "\nvoid add_generated_functions(FunctionTables& tables) {",
        *[f'  tables["{module}"];  // exists even without functions' for module in MODULES],
        *[f"  add_{area}_functions(tables);" for area in areas(rows)],
        *[f"  declare_{named_type(row).partition(' = ')[2]}" for row in named.values()],
        "}",
        "void add_generated_methods(std::vector<PyMethodDef>& methods) {",
        *[f"  add_{area}_methods(methods);" for area in areas(rows)],
        "}",
        "void add_generated_slots(std::vector<PyType_Slot>& slots) {",
        *entries,
        "}\n",
        "}  // namespace mt::bindings",
        "",
    ])  # fmt: skip
