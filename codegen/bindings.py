"""Python bindings: one fast-call function per operator name, the Tensor type's methods and number slots."""

from __future__ import annotations

from collections import defaultdict

from .cpp_types import default_value
from .dispatch import BANNER
from .schema import Argument
from .table import Row

_KINDS = {
    "Tensor": "tensor", "Tensor?": "tensor", "Tensor[]": "tensor_list", "Scalar": "number",
    "Scalar?": "number", "int": "integer", "int?": "integer", "float": "real", "bool": "boolean",
    "int[]": "int_list", "int[1]": "dim_list", "int[1]?": "dim_list", "ScalarType": "dtype",
    "ScalarType?": "dtype", "Device?": "device",
    "MemoryFormat": "memory_format", "MemoryFormat?": "memory_format", "Generator?": "generator",
}  # fmt: skip
_PYTHON_TYPES = {
    "Scalar": "Number", "Scalar?": "Number", "int[]": "tuple of ints", "int[1]": "int or tuple of ints",
    "int[1]?": "int or tuple of ints", "ScalarType?": "torch.dtype", "ScalarType": "torch.dtype",
    "Device?": "torch.device", "Generator?": "torch.Generator", "MemoryFormat?": "torch.memory_format",
    "MemoryFormat": "torch.memory_format", "Tensor[]": "tuple of Tensors",
}  # fmt: skip
_READERS = {
    "Tensor": "tensor", "Tensor?": "tensor", "Tensor[]": "tensors", "Scalar": "number",
    "Scalar?": "number_or_none",
    "int": "integer", "int?": "integer_or_none", "float": "real", "bool": "boolean", "int[]": "ints",
    "int[1]": "dims", "int[1]?": "dims", "ScalarType": "dtype", "ScalarType?": "dtype_or_none",
    "Device?": "device_or_none", "MemoryFormat": "format", "MemoryFormat?": "format_or_none",
    "Generator?": "generator",
}  # fmt: skip
_WITH_FALLBACK = ("Scalar", "int", "float", "bool", "MemoryFormat")
_OPTIONS = (
    Argument("dtype", "ScalarType?", "None", True), Argument("layout", "Layout", "None", True),
    Argument("device", "Device?", "None", True), Argument("pin_memory", "bool?", "None", True),
    Argument("requires_grad", "bool?", "None", True),
)  # fmt: skip
_OUT = Argument("out", "Tensor?", "None", True)
_BINARY_SLOTS = {
    "__add__": "add", "__sub__": "subtract", "__mul__": "multiply", "__truediv__": "true_divide",
    "__floordiv__": "floor_divide", "__mod__": "remainder", "__matmul__": "matrix_multiply", "__and__": "and",
    "__or__": "or", "__xor__": "xor",
}  # fmt: skip
_UNARY_SLOTS = {"__neg__": "negative", "__abs__": "absolute", "__invert__": "invert"}
_COMPARE = {
    "__eq__": "Py_EQ",
    "__ne__": "Py_NE",
    "__lt__": "Py_LT",
    "__le__": "Py_LE",
    "__gt__": "Py_GT",
    "__ge__": "Py_GE",
}
_COMMUTATIVE = ("__add__", "__mul__", "__and__", "__or__", "__xor__")
_INCLUDES = (
    '#include "bindings/parser.h"\n#include "bindings/results.h"\n#include "bindings/tensor_object.h"\n'
    '#include "generated/ops/ops.h"\n#include "infer/infer.h"\n\nnamespace mt::bindings {\nnamespace {\n'
)


def _kind(argument: Argument) -> str:
    return {"Layout": "layout", "bool?": "boolean"}.get(argument.type) or _KINDS[argument.type]


def _python_name(row: Row, argument: Argument, method: bool) -> str:
    return "input" if argument.name == "self" and not method else argument.name


def python_arguments(row: Row, suffix: str = "") -> list[Argument]:
    """The schema's arguments and what Python adds: factory options, out=."""
    arguments = list(row.schema.arguments)
    if row.factory:
        arguments += _OPTIONS
    if "out" in row.variants and not suffix:
        arguments.append(_OUT)
    return arguments


def signature_text(row: Row, arguments: list[Argument], method: bool) -> str:
    parts, star = [], False
    for i, a in enumerate(arguments):
        if method and i == 0:
            continue
        if a.keyword_only and not star:
            parts.append("*")
            star = True
        default = f" = {a.default}" if a.default is not None else ""
        parts.append(
            f"{_PYTHON_TYPES.get(a.type, a.type.rstrip('?'))} {_python_name(row, a, method)}{default}"
        )
    return f"({', '.join(parts)})"


def _parameter(row: Row, a: Argument, method: bool) -> str:
    def flag(value: bool) -> str:
        return "true" if value else "false"

    nullable = a.type.endswith("?") or a.type == "Layout"
    return (
        f'{{"{_python_name(row, a, method)}", Kind::{_kind(a)}, {flag(a.default is not None)}, '
        f"{flag(nullable)}, {flag(a.keyword_only)}}}"
    )


def _value(a: Argument, i: int) -> str:
    reader = _READERS[a.type]
    if a.default is not None and a.type in _WITH_FALLBACK:
        return f"b.{reader}({i}, {default_value(a)})"
    return f"b.{reader}({i})"


def _result(row: Row, call: str) -> str:
    returns = row.schema.returns
    if returns[0].type == "Tensor[]":
        return f"return wrap_list({call});"
    if len(returns) > 1:
        fields = ", ".join(f'"{r.name}"' for r in returns)
        return (
            f'static PyTypeObject* type = return_type("torch.return_types.{row.cpp_name}", {{{fields}}});\n'
            f"        return wrap_named(type, {call});"
        )
    return f"return wrap({call});"


def _case(row: Row, index: int, suffix: str) -> list[str]:
    arguments = python_arguments(row, suffix)
    values = [_value(a, i) for i, a in enumerate(row.schema.arguments)]
    lines = [f"      case {index}: {{"]
    if row.family == "inplace" or suffix:
        target = [a.name for a in row.schema.arguments].index(
            row.target if row.family == "inplace" else row.schema.arguments[0].name
        )
        lines += [
            f"        ops::{row.cpp_name}{suffix}({', '.join(values)});",
            f"        return returned(b.at({target}));",
        ]
    elif row.factory:
        at = len(row.schema.arguments)
        lines += [
            f"        const TensorOptions options = b.options({at});",
            f"        return wrap_made(ops::{row.cpp_name}({', '.join([*values, 'options'])}), options);",
        ]
    else:
        if "out" in row.variants:
            at = len(arguments) - 1
            lines += [
                f"        if (b.given({at})) {{",
                f"          ops::{row.cpp_name}_out({', '.join([*values, f'b.tensor({at})'])});",
                f"          return returned(b.at({at}));",
                "        }",
            ]
        lines.append("        " + _result(row, f"ops::{row.cpp_name}({', '.join(values)})"))
    return [*lines, "      }"]


def _callable(name: str, rows: list[Row], method: bool, suffix: str = "") -> str:
    """`name` as Python calls it: overloads in table order, the first that fits wins."""
    identifier = f"{'method' if method else 'function'}_{name}"
    lines, signatures = [], []
    for i, row in enumerate(rows):
        arguments = python_arguments(row, suffix)
        positional = sum(not a.keyword_only for a in arguments)
        lines.append(
            f"Parameter {identifier}_{i}[] = {{{', '.join(_parameter(row, a, method) for a in arguments)}}};"
        )
        text = signature_text(row, arguments, method)
        signatures.append(f'{{"{text}", {identifier}_{i}, {len(arguments)}, {positional}}}')
    lines += [
        f"PyObject* {identifier}({'PyObject* self' if method else 'PyObject*'}, PyObject* const* args, "
        "Py_ssize_t count, PyObject* keywords) {",
        f'  static const Overloads overloads("{name}", {{{", ".join(signatures)}}});',
        "  return guarded([&]() -> PyObject* {",
        "    Bound b;",
        f"    switch (overloads.match(b, {'self' if method else 'nullptr'}, args, count, keywords)) {{",
    ]
    for i, row in enumerate(rows):
        lines += _case(row, i, suffix)
    return "\n".join([*lines, "      default: return nullptr;", "    }", "  });", "}", ""])


def _by_name(rows: list[Row], variant: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if variant in row.variants:
            groups[row.cpp_name].append(row)
    return groups


def _table(names: list[str], prefix: str) -> list[str]:
    cast = "reinterpret_cast<PyCFunction>(reinterpret_cast<void*>({}))"
    return [
        f'    {{"{n}", {cast.format(f"{prefix}_{n}")}, METH_FASTCALL | METH_KEYWORDS, nullptr}},'
        for n in names
    ]


def functions_source(rows: list[Row]) -> str:
    groups = _by_name(rows, "function")
    inplace = {f"{name}_": group for name, group in _by_name(rows, "inplace").items()}
    names = [*groups, *inplace]
    return "\n".join([
        BANNER,
        _INCLUDES,
        *[_callable(name, group, method=False) for name, group in groups.items()],
        *[_callable(name, group, method=False, suffix="_") for name, group in inplace.items()],
        "PyMethodDef table[] = {",
        *_table(names, "function"),
        "    {nullptr, nullptr, 0, nullptr},\n};\n",
        "}  // namespace\n",
        "PyMethodDef* generated_functions() { return table; }\n",
        "}  // namespace mt::bindings",
        "",
    ])  # fmt: skip


def _binary_slot(row: Row, number_row: Row | None, special: str) -> str:
    name, slot = row.cpp_name, _BINARY_SLOTS[special]
    number = f"if (is_number(b)) return wrap(ops::{name}(x, number_from(b)));" if number_row else ""
    if special in _COMMUTATIVE and number_row:
        reflected = f"return wrap(ops::{name}(tensor_of(b), number_from(a)));"
    else:
        reflected = f"return wrap(ops::{name}(wrapped_scalar(number_from(a)), tensor_of(b)));"
    reflected_line = f"    if (is_number(a)) {reflected}" if special != "__matmul__" else ""
    text = f"""PyObject* slot_{slot}(PyObject* a, PyObject* b) {{
  return guarded([&]() -> PyObject* {{
    if (is_tensor(a)) {{
      const Tensor& x = tensor_of(a);
      if (is_tensor(b)) return wrap(ops::{name}(x, tensor_of(b)));
      {number}
      Py_RETURN_NOTIMPLEMENTED;
    }}
{reflected_line}
    Py_RETURN_NOTIMPLEMENTED;
  }});
}}
"""
    if "inplace" in row.variants:
        inplace_number = (
            f"else if (is_number(b)) ops::{name}_(tensor_of(a), number_from(b));" if number_row else ""
        )
        text += f"""PyObject* slot_inplace_{slot}(PyObject* a, PyObject* b) {{
  return guarded([&]() -> PyObject* {{
    if (is_tensor(b)) ops::{name}_(tensor_of(a), tensor_of(b));
    {inplace_number}
    else Py_RETURN_NOTIMPLEMENTED;
    return returned(a);
  }});
}}
"""
    return text


_POWER = """PyObject* slot_power(PyObject* a, PyObject* b, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (is_tensor(a)) {
      if (is_tensor(b)) return wrap(ops::pow(tensor_of(a), tensor_of(b)));
      if (is_number(b)) return wrap(ops::pow(tensor_of(a), number_from(b)));
    } else if (is_number(a)) {
      return wrap(ops::pow(wrapped_scalar(number_from(a)), tensor_of(b)));
    }
    Py_RETURN_NOTIMPLEMENTED;
  });
}
"""


def _unary_slot(row: Row) -> str:
    # Python's ~ refuses with a TypeError what bitwise_not() has no kernel for.
    check = "infer::check_inversion(tensor_of(self)); " if row.special == "__invert__" else ""
    return (
        f"PyObject* slot_{_UNARY_SLOTS[row.special or '']}(PyObject* self) {{\n"
        f"  return guarded([&] {{ {check}return wrap(ops::{row.cpp_name}(tensor_of(self))); }});\n}}\n"
    )


def _compare_slot(rows: dict[str, Row]) -> str:
    cases = []
    for special, operation in _COMPARE.items():
        name = rows[special].cpp_name
        cases.append(
            f"      case {operation}: return is_tensor(b) ? wrap(ops::{name}(x, tensor_of(b))) : "
            f"wrap(ops::{name}(x, number_from(b)));"
        )
    body = "\n".join(cases)
    return f"""PyObject* slot_compare(PyObject* a, PyObject* b, int operation) {{
  return guarded([&]() -> PyObject* {{
    if (!is_tensor(b) && !is_number(b)) Py_RETURN_NOTIMPLEMENTED;
    const Tensor& x = tensor_of(a);
    switch (operation) {{
{body}
      default: Py_RETURN_NOTIMPLEMENTED;
    }}
  }});
}}
"""


def _slots(rows: list[Row]) -> tuple[list[str], list[str]]:
    special = {r.special: r for r in rows if r.special and not r.scalar_variant}
    numbers = {r.special: r for r in rows if r.special and r.scalar_variant}
    definitions, entries = [], []

    def entry(slot: str, function: str) -> None:
        entries.append(f"  slots.push_back({{Py_{slot}, reinterpret_cast<void*>({function})}});")

    for name, slot in _BINARY_SLOTS.items():
        row = special[name]
        definitions.append(_binary_slot(row, numbers.get(name), name))
        entry(f"nb_{slot}", f"slot_{slot}")
        if "inplace" in row.variants:
            entry(f"nb_inplace_{slot}", f"slot_inplace_{slot}")
    for name, slot in _UNARY_SLOTS.items():
        definitions.append(_unary_slot(special[name]))
        entry(f"nb_{slot}", f"slot_{slot}")
    definitions += [_POWER, _compare_slot(special)]
    entry("nb_power", "slot_power")
    entry("tp_richcompare", "slot_compare")
    return definitions, entries


def methods_source(rows: list[Row]) -> str:
    groups = _by_name(rows, "method")
    inplace = {f"{name}_": group for name, group in _by_name(rows, "inplace").items()}
    slots, entries = _slots(rows)
    return "\n".join([
        BANNER,
        _INCLUDES,
        *[_callable(name, group, method=True) for name, group in groups.items()],
        *[_callable(name, group, method=True, suffix="_") for name, group in inplace.items()],
        *slots,
        "PyMethodDef table[] = {",
        *_table([*groups, *inplace], "method"),
        "    {nullptr, nullptr, 0, nullptr},\n};\n",
        "}  // namespace\n",
        "PyMethodDef* generated_methods() { return table; }\n",
        "void add_generated_slots(std::vector<PyType_Slot>& slots) {",
        *entries,
        "}\n",
        "}  // namespace mt::bindings",
        "",
    ])  # fmt: skip
