"""python -m codegen --out FOLDER: writes everything that comes from the operator table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import (
    autocast,
    autograd,
    backends,
    batch,
    bindings,
    dispatch,
    docs,
    forward,
    infer,
    operators,
    substitutes,
)
from .devices import DEVICES
from .families import TEMPLATED
from .homes import homes
from .reader import TableError
from .row import MODULES, Row, areas
from .table import load_table


def outputs(rows: list[Row]) -> dict[str, str]:
    autocast.check(rows)
    files = {
        "ops/substitutes/register.h": substitutes.register_header(rows),
        "ops/substitutes/register.cpp": substitutes.register_source(rows),
        "bindings/limits.h": bindings.limits_header(),
        "bindings/index.cpp": bindings.index_source(rows),
        "python/_C/__init__.pyi": docs.native_stub(rows),
        "python/_C/_functions.pyi": docs.functions_stub(rows, ""),
        "docs/support_matrix.md": docs.support_matrix(rows),
    }
    for module in MODULES:
        files[f"python/_C/_{module}.pyi"] = docs.functions_stub(rows, module)
    for area, text in bindings.functions_sources(rows).items():
        files[f"bindings/{area}_functions.cpp"] = text
    for area, text in bindings.methods_sources(rows).items():
        files[f"bindings/{area}_methods.cpp"] = text
    declared_in = homes(rows)
    for area in areas(rows):
        own = [row for row in rows if row.area == area]
        files |= {
            f"ops/{area}.h": dispatch.header(own),
            f"ops/{area}_tables.h": dispatch.tables_header(own),
            f"ops/{area}.cpp": dispatch.source(own, area, declared_in),
            f"ops/composites/{area}.h": dispatch.helpers_header(own, area, "composites"),
            f"ops/any_device/{area}.h": dispatch.helpers_header(own, area, "any_device"),
            f"ops/substitutes/{area}.h": substitutes.header(own, area),
            f"ops/substitutes/{area}.cpp": substitutes.source(own, area),
            f"infer/{area}.h": infer.header(own, area),
            f"operators/{area}.cpp": operators.source(own, area),
            f"batch/{area}.h": batch.header(own, area),
            f"batch/{area}.cpp": batch.source(own, area),
            f"autograd/{area}.h": autograd.nodes_header(own),
            f"autograd/{area}.cpp": autograd.nodes_source(own, area, declared_in),
            f"forward/{area}.cpp": forward.source(own, area, declared_in),
        }
        for device in DEVICES:
            if backends.has_cells(own, device):
                files[f"{device.name}/{area}.h"] = backends.header(own, area, device)
                files[f"{device.name}/{area}.cpp"] = backends.source(own, area, device)
    files["batch/register.cpp"] = batch.register_source(rows)
    files["operators/register.cpp"] = operators.register_source(rows)
    files["forward/register.cpp"] = forward.register_source(rows)
    files["ops/all_tables.h"] = dispatch.all_tables_header(rows)
    for device in DEVICES:
        files[f"{device.name}/register.h"] = backends.register_header(device)
        files[f"{device.name}/register.cpp"] = backends.register_source(rows, device)
        for name, text in (device.vendor.sources() if device.vendor else {}).items():
            files[f"{device.name}/{name}"] = text
    for family in TEMPLATED:
        files[f"kernels/{family.family}.cpp"] = backends.kernel_instantiations(rows, family)
    return {name: text for name, text in files.items() if text}


def write_if_changed(path: Path, text: str) -> None:
    """Leaves files whose content stays the same alone, so that nothing is rebuilt for them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(prog="codegen", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the generated files")
    options = parser.parse_args()
    try:
        files = outputs(load_table())
    except TableError as error:
        sys.exit(f"{error}")
    for name, text in files.items():
        write_if_changed(options.out / name, text)


if __name__ == "__main__":
    main()
