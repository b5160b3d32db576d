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
    optional = ("grad", "differentiable")

    function: str  # of csrc/core/views.h, with one result or a list of them

    @classmethod
    def part(cls, entry: Entry, schema: Schema) -> dict[str, Any]:
        return {"function": entry.text("view")}

    def declarations(self) -> list[str]:
        return dispatch.declarations(self)

    def definitions(self) -> str:
        result, name = self.schema.return_type, self.result_names[0]
        several = self.results[0].type is schema_types.TENSORS
        lines = [
            f"{result} {self.cpp_name}({self.schema.parameters()}) {{",
            *autocast.statements(self),
            dispatch.scope(self),
            f"  {result} {name} = views::{self.function}({', '.join(self.schema.names)});",
        ]
        if several and not self.schema.arguments[0].alias:  # the operator promises to treat them as copies
            lines.append("  autograd::with_own_versions(outs);")
        elif self.differentiable:
            lines.append(f"  autograd::as_view{'s' if several else ''}(self, {name});")
        if self.differentiable:
            lines += autograd.record(self, [name])
        return "\n".join([*lines, f"  return {name};", "}", ""])

    def python_call(self, suffix: str) -> list[str]:
        return bindings.fresh_call(self)
