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
        '#include "kernels/elementwise/functors.h"',
        f'#include "kernels/{family.loop}"\n',
        "namespace mt::kernels {\n",
        *[f"template void {family.family}<{functor}>{family.loop_parameters};" for functor in functors],
        "\n}  // namespace mt::kernels",
        "",
    ])  # fmt: skip


def has_cells(rows: list[Row], device: str) -> bool:
    """Whether the device has kernels for some of the rows, and so a file of cells for their area."""
    return bool(_cpu_cells(rows) if device == "cpu" else _npu_cells(rows))


def register_header(device: str) -> str:
    return "\n".join([
        BANNER + "#pragma once\n",
        f"namespace mt::{device} {{\n",
        f"void register_{device}_kernels();  // fills the device's cells",
        f"\n}}  // namespace mt::{device}",
        "",
    ])  # fmt: skip


def register_source(rows: list[Row], device: str) -> str:
    own = [area for area in areas(rows) if has_cells([r for r in rows if r.area == area], device)]
    return "\n".join([
        BANNER,
        f'#include "generated/{device}/register.h"\n',
        *[f'#include "generated/{device}/{area}.h"' for area in own],
        f"\nnamespace mt::{device} {{\n",
        f"void register_{device}_kernels() {{",
        *[f"  register_{area}_kernels();" for area in own],
        "}\n",
        f"}}  // namespace mt::{device}",
        "",
    ])  # fmt: skip


def _cells_header(device: str, area: str, by_hand: set[str]) -> str:
    """What csrc/backends/<device>/<area>.cpp defines, and the function that fills the area's cells."""
    return "\n".join([
        BANNER + "#pragma once\n",
        '#include "core/dispatch.h"',
        '#include "core/generator.h"\n',
        f"namespace mt::{device} {{\n",
        *([f"// Written by hand in csrc/backends/{device}/{area}.cpp.", *sorted(by_hand), ""] if by_hand else []),
        f"void register_{area}_kernels();",
        f"\n}}  // namespace mt::{device}",
        "",
    ])  # fmt: skip


def _unused_allowed(row: Row) -> str:
    """The parameter list of a cell, which need not read every argument (keepdim is in out's shape)."""
    return "[[maybe_unused]] " + row.kernel_parameters.replace(", ", ", [[maybe_unused]] ")


def _cpu_cells(rows: list[Row]) -> list[DeviceRow]:
    return [r for r in with_tables(rows) if r.cpu]


def cpu_header(rows: list[Row], area: str) -> str:
    return _cells_header("cpu", area, {r.cpu_declaration for r in _cpu_cells(rows) if r.cpu_declaration})


def _cpu_function(row: DeviceRow) -> str:
    work = f"  HostWork work({row.host_work});\n" if row.host_work else ""
    return f"void run_{row.id}({_unused_allowed(row)}) {{\n{work}{row.cpu_body()}\n}}\n"


def cpu_source(rows: list[Row], area: str) -> str:
    own = _cpu_cells(rows)
    return "\n".join([
        BANNER,
        f'#include "generated/cpu/{area}.h"\n',
        '#include "backends/cpu/kept_view.h"',
        '#include "backends/cpu/kernel_view.h"',
        '#include "core/host_lock.h"',
        f'#include "generated/ops/{area}_tables.h"',
        '#include "infer/infer.h"',
        '#include "kernels/elementwise/elementwise.h"',
        '#include "kernels/elementwise/functors.h"',
        '#include "kernels/reduce/reduce.h"\n',
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


def _npu_cells(rows: list[Row]) -> list[tuple[DeviceRow, VendorCall | HandWritten]]:
    return [(r, r.npu) for r in with_tables(rows) if isinstance(r.npu, VendorCall | HandWritten)]


def npu_header(rows: list[Row], area: str) -> str:
    return _cells_header("npu", area, {
        f"void {cell.function}({r.kernel_parameters});"
        for r, cell in _npu_cells(rows)
        if isinstance(cell, HandWritten)
    })  # fmt: skip


def npu_source(rows: list[Row], area: str) -> str:
    own = _npu_cells(rows)
    return "\n".join([
        BANNER,
        f'#include "generated/npu/{area}.h"\n',
        '#include "backends/npu/aclnn_call.h"',
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
