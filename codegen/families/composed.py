"""Operators made of others: in C++, in Python, one call of another, or one for every entry of lists."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .. import autocast, autograd, bindings, dispatch, schema_types
from ..devices import CELLS
from ..reader import Entry
from ..row import DeviceRow, Row
from ..schema import Schema


@dataclass(frozen=True, kw_only=True)
class Composite(Row):
    family = "composite"
    required = ("composite",)
    optional = ("factory", "keeps_out_shape", "tells_of_resizing", "whole")
    made_of_others = True

    whole: str = ""  # handlers see it, not its parts: always, or where no history is recorded
    function: str  # of csrc/ops/composites/<area>.cpp
    keeps_out_shape: bool = False  # an out= with as many elements as the result is filled as it is
    tells_of_resizing: bool = False  # and one with another number of them is resized with a warning

    @classmethod
    def part(cls, entry: Entry, schema: Schema) -> dict[str, Any]:
        return {
            "function": entry.text("composite"),
            "factory": entry.flag("factory"),
            "keeps_out_shape": entry.flag("keeps_out_shape"),
            "tells_of_resizing": entry.flag("tells_of_resizing"),
            "whole": entry.word("whole", ("always", "without_history")),
        }

    def declarations(self) -> list[str]:
        return dispatch.declarations(self)

    @property
    def _options(self) -> list[str]:
        return ["const TensorOptions& options"] if self.factory else []

    def helper(self) -> tuple[str, str]:
        parameters = self.schema.parameters(*self._options)
        return "composites", f"{self.schema.return_type} {self.function}({parameters});"

    def _call(self, arguments: list[str]) -> str:
        return f"composites::{self.function}({', '.join(arguments)})"

    def definitions(self) -> str:
        arguments = self.schema.names + (["options"] if self.factory else [])
        result = self.schema.return_type
        # What makes tensors has no history to record, so that it can be handed over as a whole.
        extra = ["options"] if self.factory else []
        taken = self.factory or bool(self.whole)
        handed_over = [f"  return {dispatch.hand_over(self, result, *extra)};"]
        if self.whole:
            in_parts = f"!for_python({dispatch.special_of(self)})"
            if self.whole == "without_history":
                in_parts += f" || autograd::any_needs_grad({autograd.tensor_names(self)})"
            own = f"results::own({self._call(arguments)})"
            handed_over = [f"  if ({in_parts}) return {own};", *handed_over]
        lines = [
            *(
                dispatch.elsewhere_definition(self, self.cpp_name, result, handed_over, *self._options)
                if taken
                else []
            ),
            f"{result} {self.cpp_name}({self.schema.parameters(*self._options)}) {{",
            *autocast.statements(self),
            dispatch.scope(self),
            *(dispatch.elsewhere(self, self.cpp_name) if taken else []),
            f"  return results::own({self._call(arguments)});",
            "}",
            "",
        ]
        if "inplace" in self.variants:
            lines += self._inplace(arguments)
        if "out" in self.variants and not self.factory:
            lines += self._out(self._call(arguments))
        return "\n".join(lines)

    def _inplace(self, arguments: list[str]) -> list[str]:
        first = arguments[0]
        return [
            f"const Tensor& {self.cpp_name}_({self.schema.parameters()}) {{",
            dispatch.scope(self, "_"),
            f"  autograd::check_inplace({first});",
            f"  const Tensor before = results::before_write({first}, "
            f"autograd::any_needs_grad({autograd.tensor_names(self)}));",
            f"  return results::write_back({first}, {self._call(['before', *arguments[1:]])});",
            "}",
            "",
        ]

    def _out(self, call: str) -> list[str]:
        names = dispatch.out_names(self)
        lines = [*dispatch.out_opening(self), *self.refusal_of_kind()]
        if len(names) == 1 and (self.out_kind or not self.out_dtype):
            lines.append(f"  results::write_out(out, {call});")
        else:
            lines.append(f"  const auto made = {call};")
            made = ["made"] if len(names) == 1 else [f"std::get<{i}>(made)" for i in range(len(names))]
            for target, result in zip(names, made, strict=True):
                lines += self.refusal(target, f"{result}.dtype()")
            lines += [f"  results::write_out({n}, {result});" for n, result in zip(names, made, strict=True)]
        return lines + dispatch.out_closing(self)

    def python_call(self, suffix: str) -> list[str]:
        if suffix:
            return bindings.inplace_call(self, suffix)
        return (
            bindings.factory_call(self, self.keeps_out_shape, self.tells_of_resizing)
            if self.factory
            else bindings.fresh_call(self)
        )


@dataclass(frozen=True, kw_only=True)
class InPython(Row):
    """A cold operator, composed in Python: the parser's values go to its function by name."""

    family = "python"
    required = ("python",)
    in_cpp = False
    gives_objects = True
    made_of_others = True

    function: str  # of src/mindtorch_v2/_composed/<area>.py

    @classmethod
    def part(cls, entry: Entry, schema: Schema) -> dict[str, Any]:
        function = entry.text("python")
        if not (function or "").isidentifier():
            entry.fail(
                f"python: {function}: wanted the name alone, such as rot90, of a function of "
                f"src/mindtorch_v2/_composed/{entry.area}.py",
                "python",
            )
        return {"function": function}

    def declarations(self) -> list[str]:
        return []

    def definitions(self) -> str:
        return ""

    def python_call(self, suffix: str) -> list[str]:
        names = ", ".join(f'"{name}"' for name in self.schema.names)
        cast = autocast.policies(self)
        policies = f", {cast}" if cast and not suffix else ""
        lines = [
            f'        static PythonOp op("{self.area}", "{self.function}", "{self.qualified_name}{suffix}", '
            f"{{{names}}}{policies});",
        ]
        if suffix:
            return [*lines, "        return op.in_place(b);"]
        if "out" in self.variants:
            at = len(self.schema.arguments)
            words = f', "{self.out_dtype}"' if self.out_dtype else ""
            lines.append(f"        if (b.given({at})) return op.into(b, {at}, {len(self.results)}{words});")
        if bindings.named_results(self):
            return [*lines, f"        {bindings.named_type(self)}", "        return op.named(b, type);"]
        return [*lines, "        return op.call(b);"]


@dataclass(frozen=True, kw_only=True)
class Call(Row):
    """A name by which Python calls another operator with some of its arguments decided: `float` is `to`."""

    family = "call"
    required = ("call",)
    optional = ("shown_as",)
    default_variants = ("method",)
    gives_objects = True
    made_of_others = True

    call: str  # C++ over the arguments: "to(self, DType::float32, false, false, memory_format)"

    @classmethod
    def part(cls, entry: Entry, schema: Schema) -> dict[str, Any]:
        call = entry.text("call") or ""
        words = set(re.findall(r"\w+", call))
        if not re.fullmatch(r"\w+\(.*\)", call):
            entry.fail(f"call: {call}: wanted a call such as to(self, other)", "call")
        for name in schema.names:
            if name not in words:
                entry.fail(f"call: says nothing of the argument {name!r}", "call")
        return {"call": str(call), "shown_as": entry.text("shown_as")}

    @classmethod
    def check(cls, entry: Entry, schema: Schema) -> None:
        super().check(entry, schema)
        if len(schema.returns) > 1:
            entry.fail("call: gives one result", "op")

    @property
    def bound_to(self) -> str:
        return self.call.partition("(")[0]

    def declarations(self) -> list[str]:
        return []

    def definitions(self) -> str:
        return ""

    def python_call(self, suffix: str) -> list[str]:
        lines = [
            f"        const auto call = []({self.schema.parameters()}) {{",
            "          using namespace ops;",
            f"          return {self.call};",
            "        };",
        ]
        return [*lines, "        " + bindings.result(self, f"call({', '.join(bindings.values(self))})")]


@dataclass(frozen=True, kw_only=True)
class ForEach(DeviceRow):
    """One call over lists: the operator `each:` names, entry by entry. Where the device has the operator for whole
    lists, they are alike, and no gradient is wanted, it is one launch."""

    family = "foreach"
    required = ("each",)
    optional = CELLS
    default_variants = ("function", "inplace")
    made_of_others = True
    inplace_is_method = False
    headers = ("infer/lists.h",)

    each: str  # "add(self, other, alpha)"

    @classmethod
    def part(cls, entry: Entry, schema: Schema) -> dict[str, Any]:
        each = entry.text("each")
        if not re.fullmatch(r"\w+\(.*\)", each or ""):
            entry.fail(f"each: {each}: wanted a call such as add(self, other, alpha)", "each")
        return super().part(entry, schema) | {"each": each}

    @classmethod
    def check(cls, entry: Entry, schema: Schema) -> None:
        super().check(entry, schema)
        if not any(a.type.tensor_list for a in schema.arguments):
            entry.fail("each: wants a list of tensors among the arguments", "op")

    @property
    def has_table(self) -> bool:
        return bool(self.cells)

    @property
    def _lists(self) -> list[str]:
        return [a.name for a in self.schema.arguments if a.type.tensor_list]

    @property
    def on_device(self) -> str:
        return f"{self._lists[0]}[0]"

    @property
    def calls(self) -> tuple[str, ...]:
        function = self.each.partition("(")[0]
        return function, f"{function}_"

    def support(self, device: str) -> str:
        return super().support(device) if device in self.cells else "its parts"

    def declarations(self) -> list[str]:
        parameters = self.schema.parameters(defaults=True)
        declared = {
            "function": f"{self.schema.return_type} {self.cpp_name}({parameters});",
            "inplace": f"void {self.cpp_name}_({parameters});",
        }
        return [text for variant, text in declared.items() if variant in self.variants]

    def _checks(self) -> list[str]:
        """Lists go together entry by entry; so do a list of numbers, or a tensor that holds them."""
        first, *others = self._lists
        others += [
            a.name for a in self.schema.arguments if a.type is schema_types.SCALARS or a.name == "scalars"
        ]
        return [
            f"  infer::check_list({first});",
            *[f"  infer::check_lists({first}, {name});" for name in others],
        ]

    def _one_call(self, outs: str, returned: str) -> list[str]:
        if not self.cells:
            return []
        listed = ", ".join(self._lists)
        specials = " | ".join(f"special({name})" for name in self._lists)
        lines = [
            f"  if (infer::in_one_call({{{listed}}}) && !autograd::any_needs_grad({listed}) && "
            f"!intercepted(scope, {specials})) {{",
            f"    {outs}",
            f"    table::{self.id}.find({self.on_device}.device())({self.kernel_arguments});",
        ]
        if not returned:
            lines.insert(2, "    for (const Tensor& t : outs) autograd::check_inplace(t);")
            lines.append("    for (const Tensor& t : outs) t.bump_version();")
        return [*lines, f"    return{returned};", "  }"]

    def definitions(self) -> str:
        first = self._lists[0]
        listed = {*self._lists} | {a.name for a in self.schema.arguments if a.type is schema_types.SCALARS}
        function, _, values = self.each.partition("(")
        values = re.sub(r"\b\w+\b", lambda m: f"{m[0]}[i]" if m[0] in listed else m[0], values)
        loop = f"for (size_t i = 0; i < {first}.size(); ++i)"
        lines = []
        if "function" in self.variants:
            lines += [
                f"std::vector<Tensor> {self.cpp_name}({self.schema.parameters()}) {{",
                dispatch.scope(self),
                *self._checks(),
                *self._one_call(f"std::vector<Tensor> outs = infer::tensors_like({first});", " outs"),
                "  std::vector<Tensor> outs;",
                f"  outs.reserve({first}.size());",
                "  {",
                f"    const infer::OverList gathered({first});",
                f"    {loop} outs.push_back({function}({values});",
                "  }",
                "  return outs;",
                "}",
                "",
            ]
        if "inplace" in self.variants:
            lines += [
                f"void {self.cpp_name}_({self.schema.parameters()}) {{",
                dispatch.scope(self, "_"),
                *self._checks(),
                *self._one_call(f"const TensorList outs = {first};", ""),
                f"  const infer::OverList gathered({first});",
                f"  {loop} {function}_({values};",
                "}",
                "",
            ]
        return "\n".join(lines)

    def python_call(self, suffix: str) -> list[str]:
        return bindings.inplace_call(self, suffix) if suffix else bindings.fresh_call(self)
