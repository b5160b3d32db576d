"""Elementwise families: one functor, and shape, dtype, the CPU and meta follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from .. import schema_types
from ..cells import Cell, Instantiated
from ..devices import ACCELERATORS, CELLS
from ..reader import Entry
from ..row import read_cells
from ..schema import Argument, Schema
from .fresh import Fresh

_RULES = {
    "same": "same", "promote": "promote", "float": "to_float", "bool": "boolean", "sum": "sum",
    "floating": "floating", "scalar": "with_scalar", "numeric": "numeric",
    "real": "to_real", "real_float": "to_real_float",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Templated(Fresh):
    """A loop of csrc/kernels, instantiated with the row's functor."""

    required = ("cpu",)
    dtypes: ClassVar[tuple[str, ...]] = ()  # the first is the default
    loop: ClassVar[str]  # the header of csrc/kernels with the template
    loop_parameters: ClassVar[str]
    module_variants = ("function", "out")

    dtype: str

    @classmethod
    def part(cls, entry: Entry, schema: Schema) -> dict[str, Any]:
        dtype = entry.word("dtype", cls.dtypes, cls.dtypes[0])
        fields = super().part(entry, schema)
        own = {name: cell for name, cell in fields["cells"].items() if name in entry}
        return fields | {"dtype": dtype, "cells": fields["cells"] | cls._instantiated(entry) | own}

    @staticmethod
    def _instantiated(entry: Entry) -> dict[str, Cell]:
        functor = entry.text("cpu")
        return {d.name: Instantiated(str(functor)) for d in ACCELERATORS if d.functors and functor}

    @property
    def rule(self) -> str:
        return f"infer::Rule::{_RULES[self.dtype]}"

    @property
    def cpu_declaration(self) -> None:
        return None

    @property
    def functor(self) -> str:
        return f"{self.family}<kernels::{self.cpu}>"


@dataclass(frozen=True, kw_only=True)
class Elementwise(Templated):
    default_variants = ("function", "method", "inplace", "out")
    default_forward = "elementwise"
    loop = "elementwise/elementwise_impl.h"
    operands: ClassVar[int]

    def _numbers(self) -> list[str]:
        """Scalars that the functor takes besides its operands."""
        return [a.name for a in self.schema.arguments[self.operands :] if a.type is schema_types.SCALAR]

    def _functor_numbers(self) -> tuple[str, str]:
        """A statement that gathers them, and the pointer to them."""
        numbers = self._numbers()
        if len(numbers) > 1:
            return f"  const Scalar params[] = {{{', '.join(numbers)}}};\n", "params"
        return "", f"&{numbers[0]}" if numbers else "nullptr"

    def _instantiation(self, function: str, *arguments: str) -> list[str]:
        gathered, numbers = self._functor_numbers()
        values = ", ".join([
            f"functor_of<kernels::{self.cpu}>", "variants", f'"{self.cpp_name}"', *arguments
        ])  # fmt: skip
        return [*gathered.strip().splitlines(), "static Variants variants;", f"{function}({values});".replace(
            "NUMBERS", numbers
        )]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Unary(Elementwise):
    family = "unary"
    optional: ClassVar[tuple[str, ...]] = (*CELLS, "dtype", "check", "grad", "jvp", "differentiable")
    dtypes: ClassVar[tuple[str, ...]] = ("same", "float", "scalar", "numeric", "real", "real_float")
    loop_parameters = "(const View&, const View&, const Scalar*)"
    operands = 1

    @classmethod
    def check(cls, entry: Entry, schema: Schema) -> None:
        super().check(entry, schema)
        if schema.names[:1] != ["self"] or schema.arguments[0].type is not schema_types.TENSOR:
            entry.fail(f"family {cls.family} wants Tensor self first", "op")
        if entry.text("dtype") == "scalar" and schema_types.SCALAR not in [a.type for a in schema.arguments]:
            entry.fail("dtype scalar wants a Scalar among the arguments", "op")

    def shape_rule(self, outputs: str) -> str:
        extra = f"{self._numbers()[0]}, " if self.dtype == "scalar" else ""
        return f"unary({self.values[0]}, {extra}{self.rule}, {outputs})"

    def cpu_body(self) -> str:
        gathered, numbers = self._functor_numbers()
        return f"{gathered}  kernels::{self.functor}(view(self), view(out), {numbers});"

    def instantiated_body(self) -> list[str]:
        to_bool = str(self.family == "predicate").lower()
        return self._instantiation("run_unary", "self", "out", "NUMBERS", to_bool)


@dataclass(frozen=True, kw_only=True)
class Predicate(Unary):
    family = "predicate"
    optional = (*CELLS, "check")
    dtypes = ("bool",)
    loop_parameters = "(const View&, const View&)"

    differentiable: bool = False

    def cpu_body(self) -> str:
        return f"  kernels::{self.functor}(view(self), view(out));"


@dataclass(frozen=True, kw_only=True)
class Binary(Elementwise):
    family = "binary"
    optional: ClassVar[tuple[str, ...]] = (*Unary.optional, "scalar", "scalar_overload")
    dtypes: ClassVar[tuple[str, ...]] = ("promote", "float")
    loop_parameters = "(const View&, const View&, const View&, DType, const Scalar*)"
    operands = 2

    scalar_variant: bool = False

    @classmethod
    def check(cls, entry: Entry, schema: Schema) -> None:
        super().check(entry, schema)
        if len(schema.arguments) < 2 or any(a.type is not schema_types.TENSOR for a in schema.arguments[:2]):
            entry.fail(f"family {cls.family} wants two tensors first", "op")

    def variant_of_number(self, entry: Entry) -> Self | None:
        """PyTorch has the operator with a number on the right if it names the overload for two tensors
        `Tensor`; elsewhere `scalar_overload` says so. `scalar_overload: null`: that one has its own row."""
        named = "Scalar" if self.schema.overload.startswith("Tensor") or "scalar" in entry else None
        overload = entry.text("scalar_overload") if "scalar_overload" in entry else named
        if overload is None:
            if "scalar" in entry:
                entry.fail(
                    "scalar: is for the overload with a number, which scalar_overload: denies", "scalar"
                )
            return None
        first, second, *rest = self.schema.arguments
        number = Argument(second.name, schema_types.SCALAR)
        formulas = tuple(f for f in self.formulas if f.names == (first.name,))
        return replace(
            self,
            schema=replace(self.schema, overload=str(overload), arguments=(first, number, *rest)),
            cells=self._instantiated(entry) | read_cells(entry, self.schema, "scalar"),
            formulas=formulas,
            forward=self.forward and self.forward.of_first(first.name, formulas),
            seen_as={
                variant: text.replace(".Tensor", ".Scalar")
                for variant, text in self.seen_as.items()
                if variant == "inplace"
            },
            scalar_variant=True,
        )

    @property
    def values(self) -> list[str]:
        """An operand may have been moved to the other's device."""
        if self.scalar_variant:
            return self.schema.names
        return ["*first", "*second", *self.schema.names[2:]]

    def meeting(self) -> list[str]:
        if self.scalar_variant:
            return []
        first, second = self.schema.names[:2]
        return [
            f"  const Tensor *first = &{first}, *second = &{second};",
            "  Tensor moved;",
            "  if (first->device() != second->device()) [[unlikely]] "
            "infer::bring_together(first, second, moved);",
        ]

    def shape_rule(self, outputs: str) -> str:
        return f"binary({self.values[0]}, {self.values[1]}, {self.rule}, {outputs})"

    def cpu_body(self) -> str:
        gathered, numbers = self._functor_numbers()
        return gathered + self._loop(f", {numbers}")

    def instantiated_body(self) -> list[str]:
        first, second = self.schema.names[:2]
        compute = f"infer::compute_type({first}, {second}, {self.rule})"
        return self._instantiation("run_elementwise", compute, "out", f"{{{first}, {second}}}", "NUMBERS")

    def _loop(self, numbers: str) -> str:
        first, second = self.schema.names[:2]
        compute = f"infer::compute_type({first}, {second}, {self.rule})"
        if self.scalar_variant:
            return (
                f"  const DType compute = {compute};\n"
                f"  const NumberView number({second}, number_dtype(compute));\n"
                f"  kernels::{self.functor}(view({first}), number.view, view(out), compute{numbers});"
            )
        return f"  kernels::{self.functor}(view({first}), view({second}), view(out), {compute}{numbers});"


@dataclass(frozen=True, kw_only=True)
class Compare(Binary):
    family = "compare"
    optional = (*CELLS, "check", "scalar", "scalar_overload")
    dtypes = ("bool",)
    loop_parameters = "(const View&, const View&, const View&, DType)"

    differentiable: bool = False

    def cpu_body(self) -> str:
        return self._loop("")
