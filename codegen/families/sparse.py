"""Operators that make sparse tensors, or that only sparse tensors have: the table of src/mindtorch_v2/_sparse computes
them, below history, which is the row's as everywhere. Note [Sparse tensors] in csrc/core/sparse.h."""

from __future__ import annotations

from dataclasses import dataclass

from .. import autograd, bindings, dispatch
from ..reader import Entry
from ..row import Row
from ..schema import Schema


@dataclass(frozen=True, kw_only=True)
class Sparse(Row):
    family = "sparse"
    optional = ("grad", "differentiable")
    default_variants = ("function",)
    headers = ("core/sparse_call.h",)

    @classmethod
    def check(cls, entry: Entry, schema: Schema) -> None:
        super().check(entry, schema)
        if len(schema.returns) > 1:
            entry.fail("family sparse gives one result", "op")

    def support(self, device: str) -> str:
        return "its parts"

    def declarations(self) -> list[str]:
        return dispatch.declarations(self)

    def definitions(self) -> str:
        name, result = self.result_names[0], self.schema.return_type
        arguments = ", ".join(["op", *self.schema.names])
        return "\n".join([
            f"{result} {self.cpp_name}({self.schema.parameters()}) {{",
            dispatch.scope(self),
            f"  {result} {name} = run_sparse<{result}>({arguments});",
            *autograd.record(self, [name]),
            f"  return {name};",
            "}",
            "",
        ])  # fmt: skip

    def python_call(self, suffix: str) -> list[str]:
        return bindings.fresh_call(self)
