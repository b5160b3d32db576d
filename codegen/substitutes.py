"""generated/ops/substitutes: cells made of other operators, which the functions of csrc/ops/substitutes compute."""

from __future__ import annotations

from .cells import Substitute
from .devices import ACCELERATORS
from .dispatch import BANNER, with_tables
from .row import DeviceRow, Row, areas

META_CELL = "cell[int(DeviceType::meta)]"


def _own(rows: list[Row]) -> list[tuple[DeviceRow, str]]:
    """The rows with a cell that is made of other operators, with the function that makes it."""
    return [
        (r, function)
        for r in with_tables(rows)
        for function in dict.fromkeys(c.function for c in r.cells.values() if isinstance(c, Substitute))
    ]


def _cells(row: DeviceRow, function: str) -> list[str]:
    """The cells of the row that the function makes, in C++; that of meta is for what stands for one of the devices."""
    return [META_CELL] + [d.cell for d in ACCELERATORS if row.cells.get(d.name) == Substitute(function)]


def header(rows: list[Row], area: str) -> str:
    """The area's functions written by hand; empty where it has none."""
    declarations = sorted({
        f"{r.schema.return_type if r.results else 'void'} {function}({r.schema.parameters()});"
        for r, function in _own(rows)
    })  # fmt: skip
    if not declarations:
        return ""
    return "\n".join([
        BANNER + "#pragma once\n",
        '#include "core/dispatch.h"',
        '#include "core/generator.h"\n',
        f"// Written by hand in csrc/ops/substitutes/{area}.cpp.",
        "namespace mt::substitutes {\n",
        *declarations,
        "\n}  // namespace mt::substitutes",
        "",
    ])  # fmt: skip


def _body(row: Row, function: str) -> str:
    call = f"{function}({', '.join(row.schema.names)})"
    names = row.result_names
    if not names:
        return f"  {call};"
    if len(names) == 1:
        return f"  copy_between({call}, {names[0]}, false);"
    made = [f"made_{name}" for name in names]
    copies = [f"  copy_between({m}, {name}, false);" for m, name in zip(made, names, strict=True)]
    return "\n".join([f"  const auto [{', '.join(made)}] = {call};", *copies])


def source(rows: list[Row], area: str) -> str:
    """The area's cells; empty where it has none."""
    own = _own(rows)
    if not own:
        return ""
    functions = [
        f"void run_{r.id}({r.kernel_parameters}) {{\n  const autograd::WithoutHistory guard;\n"
        f"{_body(r, function)}\n}}\n"
        for r, function in own
    ]
    return "\n".join([
        BANNER,
        '#include "autograd/without_history.h"',
        f'#include "generated/ops/{area}_tables.h"',
        f'#include "generated/ops/substitutes/{area}.h"',
        '#include "generated/ops/substitutes/register.h"\n',
        "namespace mt::substitutes {",
        "namespace {\n",
        *functions,
        "}  // namespace\n",
        f"void register_{area}() {{",
        *[f"  table::{r.id}.{cell} = run_{r.id};" for r, function in own for cell in _cells(r, function)],
        "}\n",
        "}  // namespace mt::substitutes",
        "",
    ])  # fmt: skip


def _areas(rows: list[Row]) -> list[str]:
    return areas([r for r, _ in _own(rows)])


def register_header(rows: list[Row]) -> str:
    return "\n".join([
        BANNER + "#pragma once\n",
        "namespace mt::substitutes {\n",
        "void register_all();  // calls those of the areas",
        *[f"void register_{area}();" for area in _areas(rows)],
        "\n}  // namespace mt::substitutes",
        "",
    ])  # fmt: skip


def register_source(rows: list[Row]) -> str:
    return "\n".join([
        BANNER,
        '#include "generated/ops/substitutes/register.h"\n',
        "namespace mt::substitutes {\n",
        "void register_all() {",
        *[f"  register_{area}();" for area in _areas(rows)],
        "}\n",
        "}  // namespace mt::substitutes",
        "",
    ])  # fmt: skip
