"""generated/forward: tangents of results from those of arguments (csrc/transforms/forward_rule.h)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .autograd import FACTS, calls_in
from .cells import ATTRIBUTE, Formula
from .dispatch import BANNER
from .homes import Homes, headers_of
from .reader import Entry
from .schema import Argument, Schema
from .schema_types import TENSORS

if TYPE_CHECKING:
    from .row import Row

# What `jvp:` may say in one word. ops/README.md explains them.
WORDS = ("elementwise", "reduction", "linear", "product", "zero", "gradient")
_TANGENT = re.compile(r"\b(\w+)_tangent\b(?!\()")  # a function may be called so


@dataclass(frozen=True)
class Forward:
    """A word; or formulas, each the term of an argument, or some results."""

    word: str = ""
    terms: tuple[Formula, ...] = ()
    results: tuple[Formula, ...] = ()

    def of_first(self, name: str, formulas: tuple[Formula, ...]) -> Forward | None:
        """What remains of it where all arguments but one are numbers."""
        terms = tuple(term for term in self.terms if term.names == (name,))
        return Forward(word=self.word, terms=terms) if terms or (self.word and formulas) else None


def _check_tangents(cell: Entry, text: str, schema: Schema, own: str = "") -> None:
    for name in dict.fromkeys(_TANGENT.findall(text)):
        argument = schema.argument(name)
        if argument is None or not argument.type.in_graph:
            cell.fail(f"the formula asks for {name}_tangent, but {name!r} is no tensor argument", text)
        if own and name != own:
            cell.fail(
                f"the term of {own!r} asks for {name}_tangent: that belongs to the term of {name!r}", text
            )


def _formula(cell: Entry, key: str, names: tuple[str, ...], schema: Schema, own: str = "") -> Formula:
    text = cell.text(key)
    if not text:
        cell.fail(f"jvp for {key!r} has no formula", key)
    _check_tangents(cell, text, schema, own)
    return Formula(names, str(text))


def _check_word(entry: Entry, word: str, schema: Schema, formulas: tuple[Formula, ...]) -> None:
    if word in ("elementwise", "reduction", "product") and not formulas:
        entry.fail(f"jvp: {word} is made of grad:, which the row does not have", "jvp")
    if word in ("elementwise", "reduction"):
        for formula in formulas:
            if len(formula.names) > 1:
                entry.fail(f"jvp: {word} wants a formula of grad: for each argument", "jvp")
    if word == "reduction" and not (schema.argument("dim") and schema.argument("keepdim")):
        entry.fail("jvp: reduction wants dim and keepdim among the arguments", "jvp")


def read_forward(entry: Entry, schema: Schema, formulas: tuple[Formula, ...], default: str) -> Forward | None:
    """`jvp:`, or what the family says where a row does not."""
    if "jvp" not in entry:
        if not default or (
            default == "elementwise" and (not formulas or any(len(f.names) > 1 for f in formulas))
        ):
            return None
        return Forward(word=default)
    if not entry.is_mapping("jvp"):
        text = entry.text("jvp")
        if not text:
            entry.fail("jvp: has no formula", "jvp")
        if text.isidentifier() and not text.endswith("_tangent"):
            word = entry.word("jvp", WORDS)
            _check_word(entry, word, schema, formulas)
            return None if word == "gradient" else Forward(word=word)
        _check_tangents(entry, text, schema)
        return Forward(results=(Formula((schema.returns[0].name,), str(text)),))
    cell = entry.entry("jvp")
    results = [r.name for r in schema.returns]
    if len(results) == 1:
        for key in cell:
            argument = schema.argument(key)
            if argument is None or not argument.type.in_graph:
                cell.fail(
                    f"jvp for {key!r}, which is no tensor argument; known: {', '.join(schema.names)}", key
                )
        return Forward(terms=tuple(_formula(cell, key, (str(key),), schema, key) for key in cell))
    made = []
    for key in cell:
        names = tuple(name.strip() for name in key.split(","))
        for name in names:
            if name not in results:
                cell.fail(f"jvp for {name!r}, which is no result; known: {', '.join(results)}", key)
        made.append(_formula(cell, key, names, schema))
    return Forward(results=tuple(made))


# ---- writing ----


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _facts(text: str) -> str:
    """What a node would save of a tensor is read off it."""
    return ATTRIBUTE.sub(lambda m: FACTS[m[2]][1].format(m[1]), text)


def _load(row: Row, texts: list[str]) -> list[str]:
    """The arguments and results that the formulas mention."""
    text = " ".join(texts)
    lines = [
        f"  [[maybe_unused]] decltype(auto) {a.name} = Unboxed<{a.type.cpp}>::from(arguments[{i}]);"
        for i, a in enumerate(row.schema.arguments)
        if _mentions(text, a.name)
    ]
    names = row.result_names or ["result"]
    for i, name in enumerate(names):
        if _mentions(text, name) and row.schema.argument(name) is None:
            lines.append(f"  [[maybe_unused]] const Tensor& {name} = tensor_in(results[{i}]);")
    if _mentions(text, "result") and "result" not in names:
        lines.append("  [[maybe_unused]] const Tensor& result = tensor_in(results[0]);")
    return lines


def _position(row: Row, name: str) -> int:
    return row.schema.names.index(name)


def _call(row: Row, replaced: dict[str, str]) -> str:
    return f"ops::{row.cpp_name}({', '.join(replaced.get(name, name) for name in row.schema.names)})"


def _moving(row: Row) -> list[Argument]:
    """The arguments that tangents flow from."""
    return [a for a in row.schema.arguments if a.type.in_graph and (not row.grad or a.name in row.grad)]


def _term(row: Row, name: str, value: str) -> list[str]:
    return [
        f"  if (const Tensor& {name}_tangent = tensor_in(tangents[{_position(row, name)}]); {name}_tangent.defined())",
        f"    terms.add({value});",
    ]


def _terms(row: Row, values: dict[str, str]) -> list[str]:
    lines = [line for name, value in values.items() for line in _term(row, name, value)]
    return [*_load(row, list(values.values())), "  Terms terms;", *lines, "  return {terms.total()};"]


def _gradient(row: Row, text: str) -> str:
    """The formula of a gradient as a function."""
    return f"[&](const Tensor& grad) {{ return Tensor({_facts(text)}); }}"


def _elementwise(row: Row) -> list[str]:
    return _terms(row, {
        name: f"of_each_element({name}_tangent, result, {_gradient(row, text)})"
        if _mentions(text, "grad")
        else f'not_implemented("{row.qualified_name}")'
        for name, text in row.grad.items()
    })  # fmt: skip


def _reduction(row: Row) -> list[str]:
    dim = row.schema.argument("dim")
    dims = "dim" if dim and dim.type.length == 1 else "DimList(dim)"
    return _terms(row, {
        name: f"of_own_elements({name}_tangent, ops::ones_like(result, std::nullopt, {{}}), "
        f"{_gradient(row, text)}, "
        f"[&](const Tensor& all) {{ return ops::sum(all, {dims}, keepdim, std::nullopt); }})"
        for name, text in row.grad.items()
    })  # fmt: skip


def _product(row: Row) -> list[str]:
    return _terms(row, {a.name: _call(row, {a.name: f"{a.name}_tangent"}) for a in _moving(row)})


def _tangent_loads(row: Row, texts: list[str]) -> list[str]:
    """Zeros stand for tangents that are not there."""
    names = dict.fromkeys(name for text in texts for name in _TANGENT.findall(text))
    return [
        f"  const auto {name}_tangent = tangent_or_zeros(tangents[{_position(row, name)}], {name});"
        for name in names
    ]


def _linear(row: Row) -> list[str]:
    call = _call(row, {a.name: f"{a.name}_tangent" for a in _moving(row)})
    return _formulas(row, (Formula((row.schema.returns[0].name,), call),))


def _formulas(row: Row, formulas: tuple[Formula, ...]) -> list[str]:
    texts = [_facts(f.text) for f in formulas]
    asked = [*texts, *(name for text in texts for name in _TANGENT.findall(text))]
    lines = [*_load(row, asked), *_tangent_loads(row, texts)]
    returns = [r.name for r in row.schema.returns]
    if len(returns) == 1:
        boxed = "TensorList(made)" if row.schema.returns[0].type is TENSORS else "made"
        return [*lines, f"  const auto made = {texts[0]};", f"  return {{boxed({boxed})}};"]
    lines.append(f"  Values made({len(returns)});")
    for number, (formula, text) in enumerate(zip(formulas, texts, strict=True)):
        if len(formula.names) == 1:
            lines.append(f"  made[{returns.index(formula.names[0])}] = boxed(Tensor({text}));")
            continue
        lines.append(f"  const auto several{number} = {text};")
        lines += [
            f"  made[{returns.index(name)}] = boxed(std::get<{i}>(several{number}));"
            for i, name in enumerate(formula.names)
        ]
    return [*lines, "  return made;"]


def _body(row: Row, forward: Forward) -> list[str]:
    words = {"elementwise": _elementwise, "reduction": _reduction, "product": _product, "linear": _linear}
    if forward.word == "zero":
        return ["  return {};"]
    if forward.word:
        return words[forward.word](row)
    if forward.terms:
        return _terms(row, {formula.names[0]: _facts(formula.text) for formula in forward.terms})
    return _formulas(row, forward.results)


def _reads(row: Row, body: list[str], name: str) -> bool:
    return any(_mentions(line, f"decltype\\(auto\\) {name}") for line in body)


def _functions(row: Row) -> list[tuple[str, str]]:
    """The operators that the rule is for."""
    own = [(row.qualified_name, row.schema.overload)]
    if "inplace" in row.variants and row.family != "inplace" and row.inplace_is_method:
        own.append((f"{row.qualified_name}_", row.schema.overload))
    return own


def _rule(row: Row, forward: Forward) -> list[str]:
    body = _body(row, forward)
    # In place, a formula for the whole result changes the shape of the tangent as it does that of the tensor.
    is_view = row.family == "view" or (row.family == "inplace" and bool(forward.results))
    written = row.schema.names[0] if row.schema.names else ""
    reads = _reads(row, body, written)
    flags = ", ".join(str(flag).lower() for flag in (is_view, reads))
    parameters = (
        "[[maybe_unused]] const Values& arguments, [[maybe_unused]] const Values& tangents, "
        "[[maybe_unused]] const Values& results"
    )
    return [
        f"Values {row.id}_tangents({parameters}) {{",
        *body,
        "}",
        f"constexpr ForwardRule {row.id}_rule{{&{row.id}_tangents, {flags}}};",
        "",
    ]


def source(rows: list[Row], area: str, homes: Homes) -> str:
    ruled = [row for row in rows if row.forward]
    if not ruled:
        return ""
    rules = [line for row in rows if row.forward for line in _rule(row, row.forward)]
    own = f"autograd/formulas/{area}.h"
    called = calls_in("\n".join(rules)) + ["ones_like", "sum", *(row.cpp_name for row in ruled)]
    return "\n".join([
        BANNER,
        '#include "transforms/forward_rule.h"',
        '#include "autograd/formulas/common.h"',
        f'#if __has_include("{own}")',
        f'#include "{own}"',
        "#endif",
        *headers_of(called, homes),
        "",
        "namespace mt::forward {",
        f"void add_{area}_forward_rules();\n",
        "namespace {",
        "using namespace mt::formulas;\n",
        *rules,
        "}  // namespace\n",
        f"void add_{area}_forward_rules() {{",
        *[
            f'  set_forward_rule("{name}", "{overload}", {row.id}_rule);'
            for row in ruled
            for name, overload in _functions(row)
        ],
        "}",
        "\n}  // namespace mt::forward",
        "",
    ])  # fmt: skip


def register_source(rows: list[Row]) -> str:
    areas = list(dict.fromkeys(row.area for row in rows if row.forward))
    return "\n".join([
        BANNER,
        '#include "transforms/forward.h"\n',
        "namespace mt::forward {\n",
        *[f"void add_{area}_forward_rules();" for area in areas],
        "\nvoid register_forward_rules() {",
        *[f"  add_{area}_forward_rules();" for area in areas],
        "}",
        "\n}  // namespace mt::forward",
        "",
    ])  # fmt: skip
