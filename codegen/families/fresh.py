"""Operators with results of their own: a shape rule allocates them, a kernel of the device fills them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from .. import autocast, autograd, bindings, dispatch, schema_types
from ..reader import Entry
from ..row import OUT_DTYPES, DeviceRow
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

    def elsewhere(self, suffix: str, *outputs: str) -> list[str]:
        """Statements that hand arguments which the kernel does not serve to another operator."""
        return []

    @abstractmethod
    def shape_rule(self, outputs: str) -> str:
        """The call that gives the results their shape and dtype."""

    def _infer(self, outputs: list[str]) -> list[str]:
        check = [f"  infer::{self.checked_by}({', '.join(self.values)});"] if self.checked_by else []
        return [*check, f"  infer::{self.shape_rule(', '.join(outputs))};"]

    def _run_into(self, slots: list[str], targets: list[str]) -> str:
        """Runs the kernel on what the slots hold for it, and moves that to the tensors that are there already.
        Note [Results of the declared dtype] in csrc/infer/infer.h."""
        arguments = self.values
        if self.reads_ahead:
            apart = {*self._operands()} - {*targets}
            arguments = [f"{name}_apart" if name in apart else name for name in arguments]
        written = [f"{slot}.written()" for slot in slots]
        return "\n".join([
            self.run([*arguments, *written], targets[0]),
            *[f"  {slot}.finish();" for slot in slots],
        ])  # fmt: skip

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
        given = outs[0] if len(outs) == 1 else f"[{', '.join(outs)}]"
        end = [*autograd.record(self, outs), f"  return {result};"]
        handed_over = dispatch.hand_over(self, self.schema.return_type)
        made = [dispatch.by_forward(self, handed_over), f"  auto {given} = {handed_over};"]
        return [
            *dispatch.elsewhere_definition(self, self.cpp_name, self.schema.return_type, [*made, *end]),
            f"{self.schema.return_type} {self.cpp_name}({self.schema.parameters()}) {{",
            *autocast.statements(self),
            dispatch.scope(self),
            *autograd.refusals(self),
            *self.elsewhere(""),
            *dispatch.elsewhere(self, self.cpp_name),
            *self.meeting(),
            *[f"  infer::Output {o}_slot;" for o in outs],
            *self._infer([f"{o}_slot" for o in outs]),
            *[f"  Tensor {o} = {o}_slot.take();" for o in outs],
            self.run([*self.values, *outs], outs[0]),
            *end,
            "}",
            "",
        ]

    def _inplace(self) -> list[str]:
        first = self.schema.names[0]
        name = f"{self.cpp_name}_"
        return [
            *dispatch.inplace_elsewhere(self, name, first),
            f"const Tensor& {name}({self.schema.parameters()}) {{",
            dispatch.scope(self, "_"),
            f"  autograd::check_inplace({first});",
            *dispatch.elsewhere(self, name),
            *self.meeting(),
            f"  infer::Output slot = infer::Output::inplace({first});",
            *self._infer(["slot"]),
            *self._overlap_checks(first),
            *autograd.record_inplace(self, first, self._run_into(["slot"], [first])),
            f"  return {first};",
            "}",
            "",
        ]

    def _out(self) -> list[str]:
        names = dispatch.out_names(self)
        slots = [f"{name}_slot" for name in names]
        return [
            *dispatch.out_elsewhere_definition(self),
            *dispatch.out_opening(self),
            *dispatch.elsewhere(self, f"{self.cpp_name}_out", tuple(names)),
            *self.elsewhere("_out", *names),
            *self.meeting(),
            *self.refusal_of_kind(),
            *self._dtype_of_out(),
            *[f"  infer::Output {name}_slot = {self._into(name)};" for name in names],
            *self._infer(slots),
            *[line for name in names for line in self.refusal(name, f"{name}_slot.written().dtype()")],
            *[line for name in names for line in self._overlap_checks(name)],
            self._run_into(slots, names),
            *[f"  {name}.bump_version();" for name in names],
            *dispatch.out_closing(self),
        ]

    def _into(self, name: str) -> str:
        """The place of an out=, which knows whether that is read as well."""
        operands = [a.name for a in self.schema.arguments if a.type.in_graph]
        read = " || ".join(f"infer::reads({name}, {operand})" for operand in operands)
        into = "into_exactly" if self.out_dtype else "into"
        return f"infer::Output::{into}({name}, {read})" if read else f"infer::Output::{into}({name})"

    @property
    def wants_floating(self) -> bool:
        """Whether it computes in floating point or complex numbers alone."""
        return False

    def _dtype_of_out(self) -> list[str]:
        """What can be asked to compute in a dtype computes in that of out= where it is not asked."""
        dtype = None if self.out_dtype else self.schema.argument("dtype")
        if dtype is None or dtype.type is not schema_types.OPTIONAL_SCALAR_TYPE or len(self.results) != 1:
            return []
        condition = "!dtype && is_differentiable(out.dtype())" if self.wants_floating else "!dtype"
        words = OUT_DTYPES["exact"]
        return [
            f"  if ({condition}) dtype = out.dtype();",
            f'  if (dtype) results::require_dtype(out, *dtype, "{words}");',
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
