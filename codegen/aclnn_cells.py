"""Cells that call ACLNN, the operators of an NPU's library: how a row names one, and the kernel that calls it."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

from . import aclnn_table
from .cells import Library, VendorCall
from .reader import ROOT

if TYPE_CHECKING:
    from .row import DeviceRow


@functools.cache
def vendor_operators() -> dict[str, list[str]]:
    """ACLNN operators and their parameters ("const aclTensor* self"), without the two that all of them have."""
    operators: dict[str, list[str]] = json.loads((ROOT / "abi/operators.json").read_text())["two_phase"]
    return operators


class Aclnn(Library):
    name = "ACLNN"
    example = "aclnnAdd(self, other, alpha, out)"
    listed_in = "abi/operators.json"
    header = "backends/npu/aclnn_call.h"

    def parameters(self, function: str) -> list[str] | None:
        return vendor_operators().get(function)

    def sources(self) -> dict[str, str]:
        return {"aclnn_table.cpp": aclnn_table.source(vendor_operators())}

    def dims(self, name: str, rank: str) -> str:
        return f"aclnn::dims({name}, {rank})"

    def body(self, row: DeviceRow, call: VendorCall) -> list[str]:
        lines = self._lines(row, call)
        inplace = _inplace_call(row, call)
        if inplace:
            over = "\n".join(f"    {line}" for line in self._lines(row, inplace))
            lines.insert(0, f"if (out.same(self)) {{\n{over}\n  }}")
        return lines

    def _lines(self, row: DeviceRow, call: VendorCall) -> list[str]:
        values = ", ".join(row.vendor_value(text, self) for text in call.arguments)
        return [
            f'static aclnn::Function<decltype({call.function}GetWorkspaceSize)> f("{call.function}");',
            f"return aclnn::call(f, {row.on_device}.device(), {values});",
        ]


def _inplace_call(row: DeviceRow, call: VendorCall) -> VendorCall | None:
    """The operator that writes over its first tensor, if it takes the rest as the other one does. It wants one
    descriptor less."""
    if "inplace" not in row.variants or call.arguments[0] != "self" or call.arguments[-1] != "out":
        return None
    name = call.function.replace("aclnn", "aclnnInplace", 1)
    kinds, own = (
        [parameter.rpartition(" ")[0] for parameter in vendor_operators().get(function, [])]
        for function in (call.function, name)
    )
    return VendorCall(name, call.arguments[:-1]) if own[1:] == kinds[1:-1] and own else None
