"""The number slots of the Tensor type: `a + b`, `-a`, `a < b`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .row import Row


@dataclass(frozen=True)
class BinarySlot:
    """A number slot of the Tensor type for two operands."""

    special: str
    name: str  # nb_add is the slot "add"
    # What `number op tensor` runs: the operator with its operands changed, or with the number made a tensor; the number
    # times the tensor's reciprocal, rounded twice as PyTorch's; or nothing, where numbers are refused.
    number_first: Literal["commuted", "wrapped", "reciprocal", ""] = "wrapped"
    modulo: str = ""  # the third parameter that Python gives to powers


_BINARY_SLOTS = (
    BinarySlot("__add__", "add", "commuted"), BinarySlot("__sub__", "subtract"),
    BinarySlot("__mul__", "multiply", "commuted"), BinarySlot("__truediv__", "true_divide", "reciprocal"),
    BinarySlot("__floordiv__", "floor_divide"), BinarySlot("__mod__", "remainder"),
    BinarySlot("__matmul__", "matrix_multiply", ""), BinarySlot("__and__", "and", "commuted"),
    BinarySlot("__or__", "or", "commuted"), BinarySlot("__xor__", "xor", "commuted"),
    BinarySlot("__lshift__", "lshift"), BinarySlot("__rshift__", "rshift"),
    BinarySlot("__pow__", "power", modulo=", PyObject*"),
)  # fmt: skip


@dataclass(frozen=True)
class UnarySlot:
    special: str
    name: str
    check: str = ""  # what Python's operator refuses before ours is called


_UNARY_SLOTS = (
    UnarySlot("__neg__", "negative"), UnarySlot("__pos__", "positive"), UnarySlot("__abs__", "absolute"),
    # ~ refuses with a TypeError what bitwise_not() has no kernel for.
    UnarySlot("__invert__", "invert", "infer::check_inversion(tensor_of(self)); "),
)  # fmt: skip
_COMPARE = {
    "__eq__": "Py_EQ",
    "__ne__": "Py_NE",
    "__lt__": "Py_LT",
    "__le__": "Py_LE",
    "__gt__": "Py_GT",
    "__ge__": "Py_GE",
}
SPECIALS = (*(slot.special for slot in (*_BINARY_SLOTS, *_UNARY_SLOTS)), *_COMPARE)


def _ask(a: str, b: str, name: str) -> str:
    """Subclasses with a __torch_function__ are asked first."""
    condition = f"maybe_overridden({a})" + (f" || maybe_overridden({b})" if b != "nullptr" else "")
    return (
        f"    if ({condition}) [[unlikely]]\n"
        f"      if (PyObject* done = call_slot_override({name}, {a}, {b})) return done;"
    )


def _binary_slot(slot: BinarySlot, row: Row, takes_number: bool) -> str:
    name = row.cpp_name
    number = f"if (is_number(b)) return wrap(ops::{name}(x, number_from(b)));" if takes_number else ""
    reflected = {
        "commuted": f"ops::{name}(tensor_of(b), number_from(a))",
        "reciprocal": "ops::mul(ops::reciprocal(tensor_of(b)), number_from(a))",
        "wrapped": f"ops::{name}(wrapped_scalar(number_from(a)), tensor_of(b))",
    }.get(slot.number_first)
    reflected_line = f"    else if (is_number(a)) return wrap({reflected});" if reflected else ""
    if slot.number_first == "reciprocal":
        reflected_line += (
            "\n    else if (is_array(a))"
            "\n      return PyNumber_Multiply(Owned(wrap(ops::reciprocal(tensor_of(b)))).object, a);"
        )
    text = f"""PyObject* slot_{slot.name}(PyObject* a, PyObject* b{slot.modulo}) {{
  return guarded([&]() -> PyObject* {{
{_ask("a", "b", f'"{slot.special}"')}
    if (is_tensor(a)) {{
      const Tensor& x = tensor_of(a);
      if (is_tensor(b)) return wrap(ops::{name}(x, tensor_of(b)));
      {number}
    }}
{reflected_line}
    return decline_slot("{slot.special}", a, b);
  }});
}}
"""
    if "inplace" in row.variants:
        inplace_number = (
            f"else if (is_number(b)) ops::{name}_(tensor_of(a), number_from(b));" if takes_number else ""
        )
        inplace = slot.special.replace("__", "__i", 1)
        text += f"""PyObject* slot_inplace_{slot.name}(PyObject* a, PyObject* b{slot.modulo}) {{
  return guarded([&]() -> PyObject* {{
{_ask("a", "b", f'"{inplace}"')}
    if (is_tensor(b)) ops::{name}_(tensor_of(a), tensor_of(b));
    {inplace_number}
    else return decline_slot("{inplace}", a, b);
    return returned(a);
  }});
}}
"""
    return text


def _unary_slot(slot: UnarySlot, row: Row) -> str:
    return f"""PyObject* slot_{slot.name}(PyObject* self) {{
  return guarded([&]() -> PyObject* {{
{_ask("self", "nullptr", f'"{slot.special}"')}
    {slot.check}return wrap(ops::{row.cpp_name}(tensor_of(self)));
  }});
}}
"""


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
    const Tensor& x = tensor_of(a);
    if (!is_tensor(b) && !is_number(b)) {{
      static constexpr const char* methods[] = {{"lt", "le", "eq", "ne", "gt", "ge"}};
      if (PyObject* done = call_slot_override(methods[operation], a, b)) return done;
      const Tensor array = operation == Py_EQ ? array_operand(b) : Tensor();  // as in PyTorch, for == alone
      if (!array.defined()) Py_RETURN_NOTIMPLEMENTED;
      return wrap(ops::eq(x, array));
    }}
    switch (operation) {{
{body}
      default: Py_RETURN_NOTIMPLEMENTED;
    }}
  }});
}}
"""


def definitions(rows: list[Row]) -> tuple[list[str], list[str]]:
    """The functions of the slots, and the statements that enter them into the type."""
    special = {r.special: r for r in rows if r.special and not r.scalar_variant}
    numbers = {r.special for r in rows if r.special and r.scalar_variant}
    functions, entries = [], []

    def entry(slot: str, function: str) -> None:
        entries.append(f"  slots.push_back({{Py_{slot}, reinterpret_cast<void*>({function})}});")

    for slot in _BINARY_SLOTS:
        row = special[slot.special]
        functions.append(_binary_slot(slot, row, slot.special in numbers))
        entry(f"nb_{slot.name}", f"slot_{slot.name}")
        if "inplace" in row.variants:
            entry(f"nb_inplace_{slot.name}", f"slot_inplace_{slot.name}")
    for unary in _UNARY_SLOTS:
        functions.append(_unary_slot(unary, special[unary.special]))
        entry(f"nb_{unary.name}", f"slot_{unary.name}")
    functions.append(_compare_slot(special))
    entry("tp_richcompare", "slot_compare")
    return functions, entries
