"""Operators with results of their own: a shape rule allocates them, a kernel of the device fills them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from .. import autocast, autograd, bindings, dispatch, schema_types
from ..reader import Entry
from ..row import DeviceRow
from ..schema import Schema


@dataclass(frozen=True, kw_only=True)
class Fresh(DeviceRow):
    checked_by: str | None = None  # a function of infer/ that refuses bad values before anything is allocated
    reads_ahead: bool = False  # an operand in the memory that is written is copied first

    @classmethod
    def part(cls, entry: Entry, schema: Schema) -> dict[str, Any]:
        return super().part(entry, schema) | {
            "checked_by": entry.text("check"),
            "reads_ahead": entry.flag("reads_ahead"),
        }

    def rule_declarations(self) -> list[str]:
        check = f"void {self.checked_by}({self.schema.parameters()});"
        return super().rule_declarations() + ([check] if self.checked_by else [])

    @property
    def on_device(self) -> str:
        return self.schema.returns[0].name

    @property
    def values(self) -> list[str]:
        """The arguments as rule and kernel get them."""
        return self.schema.names

    def meeting(self) -> list[str]:
        """Statements that bring operands of several devices together."""
        return []

    @abstractmethod
    def shape_rule(self, outputs: str) -> str:
        """The call that gives the results their shape and dtype."""

    def _infer(self, outputs: list[str]) -> list[str]:
        check = [f"  infer::{self.checked_by}({', '.join(self.values)});"] if self.checked_by else []
        return [*check, f"  infer::{self.shape_rule(', '.join(outputs))};"]

    def _run_into(self, outputs: list[str]) -> str:
        """Runs the kernel on tensors that are there already."""
        arguments = self.values
        if self.reads_ahead:
            apart = {*self._operands()} - {*outputs}
            arguments = [f"{name}_apart" if name in apart else name for name in arguments]
        return self.run([*arguments, *outputs], outputs[0])

    def _operands(self) -> list[str]:
        return [a.name for a in self.schema.arguments if a.type is schema_types.TENSOR]

    def _overlap_checks(self, target: str) -> list[str]:
        """Operands that share part of the written memory would be read after they were overwritten."""
        names = [name for name in self._operands() if name != target]
        lines = [f"  infer::check_no_partial_overlap({target}, {name});" for name in names]
        if self.reads_ahead:
            lines += [f"  const Tensor {name}_apart = results::apart({target}, {name});" for name in names]
        return lines

    def _function(self) -> list[str]:
        """A fresh result."""
        outs = self.result_names
        result = outs[0] if len(outs) == 1 else "{" + ", ".join(f"std::move({o})" for o in outs) + "}"
        return [
            f"{self.schema.return_type} {self.cpp_name}({self.schema.parameters()}) {{",
            *autocast.statements(self),
            dispatch.scope(self),
            *self.meeting(),
            *[f"  infer::Output {o}_slot;" for o in outs],
            *self._infer([f"{o}_slot" for o in outs]),
            *[f"  Tensor {o} = {o}_slot.take();" for o in outs],
            self.run([*self.values, *outs], outs[0]),
            *autograd.record(self, outs),
            f"  return {result};",
            "}",
            "",
        ]

    def _inplace(self) -> list[str]:
        first = self.schema.names[0]
        return [
            f"const Tensor& {self.cpp_name}_({self.schema.parameters()}) {{",
            dispatch.scope(self, "_"),
            *self.meeting(),
            f"  autograd::check_inplace({first});",
            f"  infer::Output slot = infer::Output::inplace({first});",
            *self._infer(["slot"]),
            *self._overlap_checks(first),
            *autograd.record_inplace(self, first, self._run_into([first])),
            f"  return {first};",
            "}",
            "",
        ]

    def _out(self) -> list[str]:
        names = dispatch.out_names(self)
        return [
            *dispatch.out_opening(self),
            *self.meeting(),
            *[f"  infer::Output {name}_slot = infer::Output::into({name});" for name in names],
            *self._infer([f"{name}_slot" for name in names]),
            *[line for name in names for line in self._overlap_checks(name)],
            self._run_into(names),
            *[f"  {name}.bump_version();" for name in names],
            *dispatch.out_closing(self),
        ]

    def declarations(self) -> list[str]:
        return dispatch.declarations(self)

    def definitions(self) -> str:
        parts = [self._function()]
        if "inplace" in self.variants:
            parts.append(self._inplace())
        if "out" in self.variants:
            parts.append(self._out())
        return "\n".join(line for part in parts for line in part)

    def python_call(self, suffix: str) -> list[str]:
        return bindings.inplace_call(self, "_") if suffix else bindings.fresh_call(self)
