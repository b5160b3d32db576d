"""Cells of the table as kernels: the CPU's functors and functions, calls of accelerators' libraries, and the explicit
instantiations of the elementwise templates, which software that stands for a device links too."""

from __future__ import annotations

from .cells import HandWritten, Instantiated, VendorCall
from .devices import HOST, Device
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


def has_cells(rows: list[Row], device: Device) -> bool:
    """Whether the device has kernels for some of the rows, and so a file of cells for their area."""
    return bool(_cpu_cells(rows) if device is HOST else _cells(rows, device))


def header(rows: list[Row], area: str, device: Device) -> str:
    """What csrc/backends/<device>/<area>.cpp defines, and the function that fills the area's cells."""
    if device is HOST:
        return _cells_header(device, area, {r.cpu_declaration for r in _cpu_cells(rows) if r.cpu_declaration})
    return _cells_header(device, area, {
        f"void {cell.function}({r.kernel_parameters});"
        for r, cell in _cells(rows, device)
        if isinstance(cell, HandWritten)
    })  # fmt: skip


def source(rows: list[Row], area: str, device: Device) -> str:
    """The area's cells."""
    return _cpu_source(rows, area, device) if device is HOST else _library_source(rows, area, device)


def register_header(device: Device) -> str:
    return "\n".join([
        BANNER + "#pragma once\n",
        f"namespace mt::{device.name} {{\n",
        f"void register_{device.name}_kernels();  // fills the device's cells",
        f"\n}}  // namespace mt::{device.name}",
        "",
    ])  # fmt: skip


def register_source(rows: list[Row], device: Device) -> str:
    own = [area for area in areas(rows) if has_cells([r for r in rows if r.area == area], device)]
    return "\n".join([
        BANNER,
        f'#include "generated/{device.name}/register.h"\n',
        *[f'#include "generated/{device.name}/{area}.h"' for area in own],
        f"\nnamespace mt::{device.name} {{\n",
        f"void register_{device.name}_kernels() {{",
        *[f"  register_{area}_kernels();" for area in own],
        "}\n",
        f"}}  // namespace mt::{device.name}",
        "",
    ])  # fmt: skip


def _cells_header(device: Device, area: str, by_hand: set[str]) -> str:
    where = f"// Written by hand in csrc/backends/{device.name}/{area}.cpp."
    return "\n".join([
        BANNER + "#pragma once\n",
        '#include "core/dispatch.h"',
        '#include "core/generator.h"\n',
        f"namespace mt::{device.name} {{\n",
        *([where, *sorted(by_hand), ""] if by_hand else []),
        f"void register_{area}_kernels();",
        f"\n}}  // namespace mt::{device.name}",
        "",
    ])  # fmt: skip


def _unused_allowed(row: Row) -> str:
    """The parameter list of a cell, which need not read every argument (keepdim is in out's shape)."""
    return "[[maybe_unused]] " + row.kernel_parameters.replace(", ", ", [[maybe_unused]] ")


def _cpu_cells(rows: list[Row]) -> list[DeviceRow]:
    return [r for r in with_tables(rows) if r.cpu]


def _cpu_function(row: DeviceRow) -> str:
    work = f"  HostWork work({row.host_work});\n" if row.host_work else ""
    return f"void run_{row.id}({_unused_allowed(row)}) {{\n{work}{row.cpu_body()}\n}}\n"


def _cpu_source(rows: list[Row], area: str, device: Device) -> str:
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
        *[f"  table::{r.id}.{device.cell} = run_{r.id};" for r in own],
        "}\n",
        "}  // namespace mt::cpu",
        "",
    ])  # fmt: skip


def _cells(
    rows: list[Row], device: Device
) -> list[tuple[DeviceRow, VendorCall | HandWritten | Instantiated]]:
    found = [(r, r.cells.get(device.name)) for r in with_tables(rows)]
    return [(r, cell) for r, cell in found if isinstance(cell, VendorCall | HandWritten | Instantiated)]


def _function(row: DeviceRow, cell: VendorCall | HandWritten | Instantiated, device: Device) -> str:
    if isinstance(cell, HandWritten):
        lines = [f"{device.name}::{cell.function}({row.kernel_arguments});"]
    elif isinstance(cell, Instantiated):
        lines = row.instantiated_body()
    else:
        assert device.vendor is not None
        lines = device.vendor.body(row, cell)
    body = "\n".join(f"  {line}" for line in lines)
    return f"void run_{row.id}({_unused_allowed(row)}) {{\n{body}\n}}\n"


def _library_source(rows: list[Row], area: str, device: Device) -> str:
    own = _cells(rows, device)
    name, library = device.name, device.vendor
    return "\n".join([
        BANNER,
        f'#include "generated/{name}/{area}.h"\n',
        *([f'#include "{library.header}"'] if library else []),
        f'#include "generated/ops/{area}_tables.h"',
        *(
            ['#include "infer/infer.h"', '#include "kernels/elementwise/functors.h"']
            if any(isinstance(cell, Instantiated) for _, cell in own)
            else []
        ),
        "",
        f"namespace mt::{name} {{",
        "namespace {\n",
        *[_function(r, cell, device) for r, cell in own],
        "}  // namespace\n",
        f"void register_{area}_kernels() {{",
        *[f"  table::{r.id}.{device.cell} = run_{r.id};" for r, _ in own],
        "}\n",
        f"}}  // namespace mt::{name}",
        "",
    ])  # fmt: skip
