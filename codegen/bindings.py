"""Python bindings: one fast-call function per operator name, the Tensor type's methods and number slots."""

from __future__ import annotations

from collections import defaultdict

from . import autocast
from .cpp_types import default_value
from .dispatch import BANNER
from .schema import Argument
from .table import MODULES, Row, stems

_KINDS = {
    "Tensor": "tensor", "Tensor?": "tensor", "Tensor[]": "tensor_list", "Scalar": "number",
    "Scalar?": "number", "int": "integer", "int?": "integer", "float": "real", "bool": "boolean",
    "int[]": "int_list", "int[1]": "dim_list", "int[1]?": "dim_list", "ScalarType": "dtype",
    "ScalarType?": "dtype", "Device?": "device", "Tensor?[]": "optional_tensor_list",
    "Tensor[]?": "tensor_list", "float?": "real", "float[]": "real_list", "float[]?": "real_list",
    "bool?": "boolean", "str": "text", "str?": "text", "int[]?": "int_list", "int[N]": "dim_list",
    "int[N]?": "dim_list", "Layout": "layout",
    "MemoryFormat": "memory_format", "MemoryFormat?": "memory_format", "Generator?": "generator",
    "Scalar[]": "real_list",
}  # fmt: skip
_PYTHON_TYPES = {
    "Scalar": "Number", "Scalar?": "Number", "int[]": "tuple of ints", "int[1]": "int or tuple of ints",
    "int[1]?": "int or tuple of ints", "ScalarType?": "torch.dtype", "ScalarType": "torch.dtype",
    "Device?": "torch.device", "Generator?": "torch.Generator", "MemoryFormat?": "torch.memory_format",
    "MemoryFormat": "torch.memory_format", "Tensor[]": "tuple of Tensors",
    "Tensor[]?": "tuple of Tensors", "Tensor?[]": "tuple of Tensors", "float[]": "tuple of floats",
    "float[]?": "tuple of floats", "int[]?": "tuple of ints", "int[N]": "int or tuple of ints",
    "int[N]?": "int or tuple of ints", "Scalar[]": "tuple of Scalars", "Layout": "torch.layout",
}  # fmt: skip
_READERS = {
    "Tensor": "tensor", "Tensor?": "tensor", "Tensor[]": "tensors", "Scalar": "number",
    "Scalar?": "number_or_none",
    "int": "integer", "int?": "integer_or_none", "float": "real", "bool": "boolean", "int[]": "ints",
    "int[1]": "dims", "int[1]?": "dims", "ScalarType": "dtype", "ScalarType?": "dtype_or_none",
    "Device?": "device_or_none", "MemoryFormat": "format", "MemoryFormat?": "format_or_none",
    "Generator?": "generator", "Tensor?[]": "optional_tensors", "float?": "real_or_none",
    "float[]": "reals", "float[]?": "reals_or_none", "bool?": "boolean_or_none", "str": "text",
    "str?": "text_or_none", "int[]?": "ints_or_none", "int[N]": "sized_ints", "int[N]?": "sized_ints_or_none",
    "Scalar[]": "numbers",
}  # fmt: skip
_WITH_FALLBACK = ("Scalar", "int", "float", "bool", "MemoryFormat", "str", "int[N]")
_OPTIONS = (
    Argument("dtype", "ScalarType?", "None", True), Argument("layout", "Layout", "None", True),
    Argument("device", "Device?", "None", True), Argument("pin_memory", "bool?", "False", True),
    Argument("requires_grad", "bool?", "False", True),
)  # fmt: skip
_OUT = Argument("out", "Tensor?", "None", True)
_OUTS = Argument("out", "Tensor[]?", "None", True)  # of operators with several results
_BINARY_SLOTS = {
    "__add__": "add", "__sub__": "subtract", "__mul__": "multiply", "__truediv__": "true_divide",
    "__floordiv__": "floor_divide", "__mod__": "remainder", "__matmul__": "matrix_multiply", "__and__": "and",
    "__or__": "or", "__xor__": "xor", "__lshift__": "lshift", "__rshift__": "rshift",
}  # fmt: skip
_UNARY_SLOTS = {"__neg__": "negative", "__pos__": "positive", "__abs__": "absolute", "__invert__": "invert"}
_COMPARE = {
    "__eq__": "Py_EQ",
    "__ne__": "Py_NE",
    "__lt__": "Py_LT",
    "__le__": "Py_LE",
    "__gt__": "Py_GT",
    "__ge__": "Py_GE",
}
_COMMUTATIVE = ("__add__", "__mul__", "__and__", "__or__", "__xor__")


def _includes(stems: list[str]) -> str:
    """Only the operators that the file binds, so that a new row elsewhere does not compile it again."""
    return "\n".join([
        '#include "bindings/overrides.h"',
        '#include "bindings/parser.h"',
        '#include "bindings/python_op.h"',
        '#include "bindings/results.h"',
        '#include "bindings/tensor_object.h"',
        *[f'#include "generated/ops/{stem}.h"' for stem in stems],
        '#include "infer/infer.h"\n',
        "namespace mt::bindings {",
        "namespace {\n",
    ])  # fmt: skip


def _kind(argument: Argument) -> str:
    return _KINDS[argument.kind]


def _python_name(row: Row, argument: Argument, method: bool) -> str:
    return (
        "input" if argument.name == "self" and argument.type != "Tensor[]" and not method else argument.name
    )


def python_arguments(row: Row, suffix: str = "") -> list[Argument]:
    """The schema's arguments and what Python adds: factory options, out=."""
    arguments = list(row.schema.arguments)
    if row.factory:
        arguments += _OPTIONS
    if "out" in row.variants and not suffix:
        arguments.append(_OUT if len(row.schema.returns) == 1 else _OUTS)
    return arguments


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
        parts.append(
            f"{_PYTHON_TYPES.get(a.kind, a.type.rstrip('?'))} {_python_name(row, a, method)}{default}"
        )
    return f"({', '.join(parts)})"


def _taken_for_tensors(row: Row) -> bool:
    """PyTorch's messages do not speak of these overloads: its parser takes their numbers for tensors."""
    return row.cpp_name in ("add", "sub", "mul", "div") and not all(
        a.is_tensor for a in row.schema.arguments if a.name in ("self", "other")
    )


def _parameter(row: Row, a: Argument, method: bool) -> str:
    def flag(value: bool) -> str:
        return "true" if value else "false"

    nullable = a.type.endswith("?") or a.type == "Layout"
    return (
        f'{{"{_python_name(row, a, method)}", Kind::{_kind(a)}, {flag(a.default is not None)}, '
        f"{flag(nullable)}, {flag(a.keyword_only)}}}"
    )


def _value(a: Argument, i: int) -> str:
    values = [str(i)]
    if a.list_length > 1:
        values.append(str(a.list_length))
    default = default_value(a)
    if default is not None and default != "IntList()":
        named_dims = a.type == "int[1]" and default != "DimList()"
        if a.kind in _WITH_FALLBACK or named_dims:
            values.append(default)
    return f"b.{_READERS[a.kind]}({', '.join(values)})"


def plain_tuple(row: Row) -> bool:
    """Results that PyTorch does not name are called result0, result1… in the table."""
    return len(row.schema.returns) > 1 and row.schema.returns[0].name == "result0"


def _named_type(row: Row) -> str:
    """The declaration of the named tuple that holds a row's results."""
    fields = ", ".join(f'"{r.name}"' for r in row.schema.returns)
    return f'static PyTypeObject* type = return_type("torch.return_types.{row.cpp_name}", {{{fields}}});'


def _result(row: Row, call: str) -> str:
    returns = row.schema.returns
    if returns[0].type == "Tensor[]":
        return f"return wrap_list({call});"
    if plain_tuple(row):
        return f"return wrap_tuple({call});"
    if len(returns) > 1:
        return f"{_named_type(row)}\n        return wrap_named(type, {call});"
    return f"return wrap({call});"


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
        f"          {_named_type(row)}",
        f"          return wrap_named(type, {{{', '.join(outs)}}});",
        "        }",
    ]


def _python_case(row: Row, suffix: str) -> list[str]:
    """An operator composed in Python: the parser's values go to its function by name."""
    module, _, function = str(row.python).rpartition(".")
    names = ", ".join(f'"{a.name}"' for a in row.schema.arguments)
    returns = row.schema.returns
    cast = autocast.policies(row)
    policies = f", {cast}" if cast and not suffix else ""
    lines = [
        f'        static PythonOp op("{module}", "{function}", "aten::{row.cpp_name}{suffix}", {{{names}}}'
        f"{policies});",
    ]
    if suffix:
        return [*lines, "        return op.in_place(b);"]
    if "out" in row.variants:
        at = len(row.schema.arguments)
        lines.append(f"        if (b.given({at})) return op.into(b, {at}, {len(returns)});")
    if len(returns) > 1 and not plain_tuple(row):
        return [*lines, f"        {_named_type(row)}", "        return op.named(b, type);"]
    return [*lines, "        return op.call(b);"]


def _case(row: Row, index: int, suffix: str) -> list[str]:
    arguments = python_arguments(row, suffix)
    lines = [f"      case {index}: {{"]
    if row.family == "python":
        return [*lines, *_python_case(row, suffix), "      }"]
    values = [_value(a, i) for i, a in enumerate(row.schema.arguments)]
    if row.family == "lists":
        lines += [f"        ops::{row.cpp_name}({', '.join(values)});", "        Py_RETURN_NONE;"]
    elif row.family == "inplace" or suffix:
        target = [a.name for a in row.schema.arguments].index(
            row.target if row.family == "inplace" else row.schema.arguments[0].name
        )
        lines += [
            f"        ops::{row.cpp_name}{suffix}({', '.join(values)});",
            f"        return returned(b.at({target}));",
        ]
    elif row.factory:
        at = len(row.schema.arguments)
        call = f"ops::{row.cpp_name}({', '.join([*values, 'options'])})"
        lines.append(f"        TensorOptions options = b.options({at});")
        if "out" in row.variants:
            into = at + len(_OPTIONS)
            lines += [
                f"        if (b.given({into})) {{",
                f"          take_options_of(b.tensor({into}), options);",
                f"          write_made(b.tensor({into}), {call}, options);",
                f"          return returned(b.at({into}));",
                "        }",
            ]
        lines.append(f"        return wrap_made({call}, options);")
    else:
        if "out" in row.variants:
            lines += _out_call(row, values, len(arguments) - 1)
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
        text = "" if _taken_for_tensors(row) else signature_text(row, arguments, method)
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


def _sources(rows: list[Row], method: bool) -> dict[str, str]:
    """By file of the table: its operators as functions or methods. Overloads go with the first of them."""
    word = "method" if method else "function"
    plain = {name: (group, "") for name, group in _by_name(rows, word).items()}
    inplace = {
        f"{name}_": (group, "_")
        for name, group in _by_name(rows, "inplace").items()
        # torch._C._nn.elu_ and torch._foreach_add_ are no methods
        if not (method and (group[0].module or group[0].family == "foreach"))
    }
    by_file: dict[str, dict[str, tuple[list[Row], str]]] = {stem: {} for stem in stems(rows)}
    for name, (group, suffix) in [*plain.items(), *inplace.items()]:
        by_file[group[0].file][name] = (group, suffix)
    sources = {}
    for stem, callables in by_file.items():
        used = sorted({row.file for group, _ in callables.values() for row in group})
        adds = []
        for name, (group, suffix) in callables.items():
            table = "methods" if method else f'tables["{group[0].module}"]'
            adds += [
                f"  {table}.push_back({_entry(other + suffix, f'{word}_{name}')});"
                for other in callable_names(group)
            ]
        parameter = "std::vector<PyMethodDef>& methods" if method else "FunctionTables& tables"
        sources[stem] = "\n".join([
            BANNER,
            _includes(used),
            *[_callable(name, group, method, suffix) for name, (group, suffix) in callables.items()],
            "}  // namespace\n",
            f"void add_{stem}_{word}s([[maybe_unused]] {parameter}) {{",
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


def _ask(a: str, b: str, name: str) -> str:
    """Subclasses with a __torch_function__ are asked first."""
    condition = f"maybe_overridden({a})" + (f" || maybe_overridden({b})" if b != "nullptr" else "")
    return (
        f"    if ({condition}) [[unlikely]]\n"
        f"      if (PyObject* done = call_slot_override({name}, {a}, {b})) return done;"
    )


def _binary_slot(row: Row, number_row: Row | None, special: str) -> str:
    name, slot = row.cpp_name, _BINARY_SLOTS[special]
    number = f"if (is_number(b)) return wrap(ops::{name}(x, number_from(b)));" if number_row else ""
    if special in _COMMUTATIVE and number_row:
        reflected = f"return wrap(ops::{name}(tensor_of(b), number_from(a)));"
    elif special == "__truediv__":  # rounded twice, as PyTorch's
        reflected = "return wrap(ops::mul(ops::reciprocal(tensor_of(b)), number_from(a)));"
    else:
        reflected = f"return wrap(ops::{name}(wrapped_scalar(number_from(a)), tensor_of(b)));"
    reflected_line = f"    else if (is_number(a)) {reflected}" if special != "__matmul__" else ""
    text = f"""PyObject* slot_{slot}(PyObject* a, PyObject* b) {{
  return guarded([&]() -> PyObject* {{
{_ask("a", "b", f'"{special}"')}
    if (is_tensor(a)) {{
      const Tensor& x = tensor_of(a);
      if (is_tensor(b)) return wrap(ops::{name}(x, tensor_of(b)));
      {number}
    }}
{reflected_line}
    return decline_slot("{special}", a, b);
  }});
}}
"""
    if "inplace" in row.variants:
        inplace_number = (
            f"else if (is_number(b)) ops::{name}_(tensor_of(a), number_from(b));" if number_row else ""
        )
        inplace = special.replace("__", "__i", 1)
        text += f"""PyObject* slot_inplace_{slot}(PyObject* a, PyObject* b) {{
  return guarded([&]() -> PyObject* {{
{_ask("a", "b", f'"{inplace}"')}
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
    if (maybe_overridden(a) || maybe_overridden(b)) [[unlikely]]
      if (PyObject* done = call_slot_override("__pow__", a, b)) return done;
    if (is_tensor(a)) {
      if (is_tensor(b)) return wrap(ops::pow(tensor_of(a), tensor_of(b)));
      if (is_number(b)) return wrap(ops::pow(tensor_of(a), number_from(b)));
    } else if (is_number(a)) {
      return wrap(ops::pow(wrapped_scalar(number_from(a)), tensor_of(b)));
    }
    return decline_slot("__pow__", a, b);
  });
}

PyObject* slot_inplace_power(PyObject* a, PyObject* b, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (maybe_overridden(a) || maybe_overridden(b)) [[unlikely]]
      if (PyObject* done = call_slot_override("__ipow__", a, b)) return done;
    if (is_tensor(b)) ops::pow_(tensor_of(a), tensor_of(b));
    else if (is_number(b)) ops::pow_(tensor_of(a), number_from(b));
    else Py_RETURN_NOTIMPLEMENTED;
    return returned(a);
  });
}
"""


def _unary_slot(row: Row) -> str:
    # Python's ~ refuses with a TypeError what bitwise_not() has no kernel for.
    check = "infer::check_inversion(tensor_of(self)); " if row.special == "__invert__" else ""
    return (
        f"PyObject* slot_{_UNARY_SLOTS[row.special or '']}(PyObject* self) {{\n"
        f"  return guarded([&]() -> PyObject* {{\n{_ask('self', 'nullptr', chr(34) + str(row.special) + chr(34))}\n"
        f"    {check}return wrap(ops::{row.cpp_name}(tensor_of(self)));\n  }});\n}}\n"
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
    specials = ", ".join(f'"{name}"' for name in ("__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"))
    return f"""PyObject* slot_compare(PyObject* a, PyObject* b, int operation) {{
  static constexpr const char* names[] = {{{specials}}};  // in the order of Py_LT …
  return guarded([&]() -> PyObject* {{
{_ask("a", "b", "names[operation]")}
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
    entry("nb_inplace_power", "slot_inplace_power")
    entry("tp_richcompare", "slot_compare")
    return definitions, entries


def index_source(rows: list[Row]) -> str:
    """What the files add, in one place, and the number slots of the Tensor type."""
    slots, entries = _slots(rows)
    used = sorted({row.file for row in rows if row.special})
    declarations = [
        f"void add_{stem}_functions(FunctionTables& tables);\n"
        f"void add_{stem}_methods(std::vector<PyMethodDef>& methods);"
        for stem in stems(rows)
    ]
    named = {row.cpp_name: row for row in rows if len(row.schema.returns) > 1 and not plain_tuple(row)}
    return "\n".join([
        BANNER,
        '#include "bindings/decline_slot.h"',
        '#include "bindings/return_types.h"',
        _includes(used),
        *slots,
        "}  // namespace\n",
        *declarations,
        "\nvoid add_generated_functions(FunctionTables& tables) {",
        *[f'  tables["{module}"];  // exists even without functions' for module in MODULES],
        *[f"  add_{stem}_functions(tables);" for stem in stems(rows)],
        *[f"  declare_{_named_type(row).partition(' = ')[2]}" for row in named.values()],
        "}",
        "void add_generated_methods(std::vector<PyMethodDef>& methods) {",
        *[f"  add_{stem}_methods(methods);" for stem in stems(rows)],
        "}",
        "void add_generated_slots(std::vector<PyType_Slot>& slots) {",
        *entries,
        "}\n",
        "}  // namespace mt::bindings",
        "",
    ])  # fmt: skip
