"""Views: another window on the same memory, on every device alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import autocast, autograd, bindings, dispatch, schema_types
from ..reader import Entry
from ..row import Row
from ..schema import Schema


@dataclass(frozen=True, kw_only=True)
class View(Row):
    family = "view"
    required = ("view",)
    optional = ("grad", "jvp", "differentiable")
    default_forward = "linear"

    function: str  # of csrc/core/views.h, with one result or a list of them

    @classmethod
    def part(cls, entry: Entry, schema: Schema) -> dict[str, Any]:
        return {"function": entry.text("view")}

    def declarations(self) -> list[str]:
        return dispatch.declarations(self)

    def definitions(self) -> str:
        result, name = self.schema.return_type, self.result_names[0]
        several = self.results[0].type is schema_types.TENSORS
        made = f"views::{self.function}({', '.join(self.schema.names)})"
        body = [
            dispatch.by_forward(self, dispatch.hand_over(self, result)),
            f"  {result} {name} = {dispatch.hand_over(self, result)};",
            *self._history(name, several, "adopt"),
        ]
        return "\n".join([
            *dispatch.elsewhere_definition(self, self.cpp_name, result, body),
            f"{result} {self.cpp_name}({self.schema.parameters()}) {{",
            *autocast.statements(self),
            dispatch.scope(self),
            *dispatch.elsewhere(self, self.cpp_name),
            f"  {result} {name} = {made};",
            *self._history(name, several, "as"),
            "}",
            "",
        ])  # fmt: skip

    def _history(self, name: str, several: bool, verb: str) -> list[str]:
        lines = []
        is_view = self.schema.arguments[0].alias  # or copies, or what the caller promises to treat as such
        if several and not is_view:
            lines.append("  autograd::with_own_versions(outs);")
        elif is_view and self.differentiable:
            lines.append(f"  autograd::{verb}_view{'s' if several else ''}(self, {name});")
        if self.differentiable:
            lines += autograd.record(self, [name])
        return [*lines, f"  return {name};"]

    def python_call(self, suffix: str) -> list[str]:
        return bindings.fresh_call(self)
