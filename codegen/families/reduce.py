"""Reductions: dimensions fold away, or stay with size 1. No dims means all of them."""

from __future__ import annotations

from dataclasses import dataclass

from ..cells import Library
from ..devices import CELLS
from ..reader import Entry
from ..schema import Schema
from .elementwise import Templated


@dataclass(frozen=True, kw_only=True)
class Reduce(Templated):
    family = "reduce"
    optional = (*CELLS, "dtype", "check", "grad", "jvp")
    default_variants = ("function", "method", "out")
    dtypes = ("same", "sum", "floating", "bool")
    loop = "reduce/reduce_impl.h"
    loop_parameters = "(const View&, const View&)"

    @classmethod
    def check(cls, entry: Entry, schema: Schema) -> None:
        super().check(entry, schema)
        dim = schema.argument("dim")
        if schema.names[:3] != ["self", "dim", "keepdim"] or dim is None or dim.type.length != 1:
            entry.fail("family reduce wants Tensor self, int[1] dim, bool keepdim first", "op")

    def shape_rule(self, outputs: str) -> str:
        dtype = "dtype" if self.schema.argument("dtype") else "std::nullopt"
        return f"reduce(self, dim, keepdim, {dtype}, {self.rule}, {outputs})"

    @property
    def _may_leave_dims(self) -> bool:
        """all(dim=()) is about each element, as in PyTorch; other reductions take no dims for all of them."""
        return self.dtype == "bool"

    @property
    def calls(self) -> tuple[str, ...]:
        return ("unsqueeze",) if self._may_leave_dims else ()

    def elsewhere(self, suffix: str, *outputs: str) -> list[str]:
        if not self._may_leave_dims:
            return []
        arguments = ", ".join(["ops::unsqueeze(self, -1)", "DimList(-1)", "false", *outputs])
        return [
            "  if (dim.present() && dim.all()) [[unlikely]]",
            f"    return {self.cpp_name}{suffix}({arguments});",
        ]

    @property
    def wants_floating(self) -> bool:
        return self.dtype == "floating"

    @property
    def host_work(self) -> str:
        return "self.numel()"

    def cpu_body(self) -> str:
        return f"  reduce_over(kernels::{self.functor}, self, dim, out);"

    def instantiated_body(self) -> list[str]:
        functor = f"kernels::{self.cpu}"
        return [
            "static Variants variants;",
            f"run_reduce(functor_of<{functor}>, {functor}::empty_allowed, variants, "
            f'"{self.cpp_name}", self, dim, out);',
        ]

    def vendor_value(self, text: str, library: Library) -> str:
        return library.dims("dim", "self.dim()") if text == "dim" else super().vendor_value(text, library)
