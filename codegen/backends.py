"""Cells of the table as kernels: the CPU's functors and functions, the NPU's ACLNN calls, and the explicit
instantiations of the elementwise templates that both the CPU and the software NPU link."""

from __future__ import annotations

from .cells import HandWritten, VendorCall, vendor_operators
from .dispatch import BANNER, with_tables
from .families import Templated
from .row import DeviceRow, Row, areas


def kernel_instantiations(rows: list[Row], family: type[Templated]) -> str:
    functors = sorted({r.cpu for r in rows if type(r) is family and r.cpu})
    return "\n".join([
        BANNER,
        '#include "kernels/functors.h"',
        f'#include "kernels/{family.loop}"\n',
        "namespace mt::kernels {\n",
        *[f"template void {family.family}<{functor}>{family.loop_parameters};" for functor in functors],
        "\n}  // namespace mt::kernels",
        "",
    ])  # fmt: skip


def register_all(rows: list[Row], device: str) -> str:
    """The function that fills the device's cells, file by file."""
    return "\n".join([
        BANNER,
        f'#include "generated/{device}/kernels.h"\n',
        f"namespace mt::{device} {{\n",
        f"void register_{device}_kernels() {{",
        *[f"  register_{area}_kernels();" for area in areas(rows)],
        "}\n",
        f"}}  // namespace mt::{device}",
        "",
    ])  # fmt: skip


def _unused_allowed(row: Row) -> str:
    """The parameter list of a cell, which need not read every argument (keepdim is in out's shape)."""
    return "[[maybe_unused]] " + row.kernel_parameters.replace(", ", ", [[maybe_unused]] ")


def cpu_header(rows: list[Row]) -> str:
    by_hand = sorted({r.cpu_declaration for r in with_tables(rows) if r.cpu and r.cpu_declaration})
    return "\n".join([
        BANNER + "#pragma once\n",
        '#include "core/dispatch.h"',
        '#include "core/generator.h"\n',
        "// Written by hand in csrc/backends/cpu/.",
        "namespace mt::cpu {\n",
        *by_hand,
        "\nvoid register_cpu_kernels();  // calls those of the files",
        *[f"void register_{area}_kernels();" for area in areas(rows)],
        "\n}  // namespace mt::cpu",
        "",
    ])  # fmt: skip


def _cpu_function(row: DeviceRow) -> str:
    work = f"  HostWork work({row.host_work});\n" if row.host_work else ""
    return f"void run_{row.id}({_unused_allowed(row)}) {{\n{work}{row.cpu_body()}\n}}\n"


def cpu_source(rows: list[Row], area: str) -> str:
    own = [r for r in with_tables(rows) if r.cpu]
    return "\n".join([
        BANNER,
        '#include "backends/cpu/view.h"',
        '#include "core/host_lock.h"',
        '#include "generated/cpu/kernels.h"',
        f'#include "generated/ops/{area}_tables.h"',
        '#include "infer/infer.h"',
        '#include "kernels/elementwise.h"',
        '#include "kernels/functors.h"',
        '#include "kernels/reduce.h"\n',
        "namespace mt::cpu {",
        "namespace {\n",
        *[_cpu_function(r) for r in own],
        "}  // namespace\n",
        f"void register_{area}_kernels() {{",
        *[f"  table::{r.id}.cell[int(DeviceType::cpu)] = run_{r.id};" for r in own],
        "}\n",
        "}  // namespace mt::cpu",
        "",
    ])  # fmt: skip


def _inplace_call(row: Row, call: VendorCall) -> VendorCall | None:
    """The vendor's operator that writes over its first tensor, if it takes the rest as the other one does. It
    wants one descriptor less."""
    if "inplace" not in row.variants or call.arguments[0] != "self" or call.arguments[-1] != "out":
        return None
    name = call.function.replace("aclnn", "aclnnInplace", 1)
    kinds, own = (
        [parameter.rpartition(" ")[0] for parameter in vendor_operators().get(function, [])]
        for function in (call.function, name)
    )
    return VendorCall(name, call.arguments[:-1]) if own[1:] == kinds[1:-1] and own else None


def _vendor_lines(row: DeviceRow, call: VendorCall) -> list[str]:
    values = ", ".join(row.vendor_value(text) for text in call.arguments)
    return [
        f'static aclnn::Function<decltype({call.function}GetWorkspaceSize)> f("{call.function}");',
        f"return aclnn::call(f, {row.on_device}.device(), {values});",
    ]


def _npu_function(row: DeviceRow, cell: VendorCall | HandWritten) -> str:
    if isinstance(cell, HandWritten):
        lines = [f"npu::{cell.function}({row.kernel_arguments});"]
    else:
        lines = _vendor_lines(row, cell)
        inplace = _inplace_call(row, cell)
        if inplace:
            over = "\n".join(f"    {line}" for line in _vendor_lines(row, inplace))
            lines.insert(0, f"if (out.same(self)) {{\n{over}\n  }}")
    body = "\n".join(f"  {line}" for line in lines)
    return f"void run_{row.id}({_unused_allowed(row)}) {{\n{body}\n}}\n"


def npu_header(rows: list[Row]) -> str:
    by_hand = sorted({
        f"void {r.npu.function}({r.kernel_parameters});"
        for r in with_tables(rows)
        if isinstance(r.npu, HandWritten)
    })  # fmt: skip
    return "\n".join([
        BANNER + "#pragma once\n",
        '#include "core/dispatch.h"',
        '#include "core/generator.h"\n',
        "// Written by hand in csrc/backends/npu/.",
        "namespace mt::npu {\n",
        *by_hand,
        "\nvoid register_npu_kernels();  // calls those of the files",
        *[f"void register_{area}_kernels();" for area in areas(rows)],
        "\n}  // namespace mt::npu",
        "",
    ])  # fmt: skip


def npu_source(rows: list[Row], area: str) -> str:
    own = [(r, r.npu) for r in with_tables(rows) if isinstance(r.npu, VendorCall | HandWritten)]
    return "\n".join([
        BANNER,
        '#include "backends/npu/aclnn_call.h"',
        '#include "generated/npu/kernels.h"',
        f'#include "generated/ops/{area}_tables.h"\n',
        "namespace mt::npu {",
        "namespace {\n",
        *[_npu_function(r, cell) for r, cell in own],
        "}  // namespace\n",
        f"void register_{area}_kernels() {{",
        *[f"  table::{r.id}.cell[int(DeviceType::npu)] = run_{r.id};" for r, _ in own],
        "}\n",
        "}  // namespace mt::npu",
        "",
    ])  # fmt: skip
