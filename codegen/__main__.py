"""python -m codegen --out FOLDER: writes everything that comes from the operator table."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import autocast, autograd, backends, bindings, dispatch, docs
from .table import MODULES, Row, load_table, stems

_TEMPLATE_FAMILIES = ("unary", "predicate", "binary", "compare", "reduce")


def _outputs(rows: list[Row]) -> dict[str, str]:
    autocast.check(rows)
    autograd.prepare(rows)
    files = {
        "ops/ops.h": dispatch.umbrella(rows),
        "ops/compositions.h": backends.compositions_header(rows),
        "ops/compositions.cpp": backends.compositions_source(rows),
        "cpu/kernels.h": backends.cpu_header(rows),
        "cpu/register.cpp": backends.register_all(rows, "cpu"),
        "npu/kernels.h": backends.npu_header(rows),
        "npu/register.cpp": backends.register_all(rows, "npu"),
        "bindings/index.cpp": bindings.index_source(rows),
        "python/_C/__init__.pyi": docs.native_stub(rows),
        "python/_C/_functions.pyi": docs.functions_stub(rows, ""),
        "docs/support_matrix.md": docs.support_matrix(rows),
    }
    for module in MODULES:
        files[f"python/_C/_{module}.pyi"] = docs.functions_stub(rows, module)
    for stem, text in bindings.functions_sources(rows).items():
        files[f"bindings/{stem}_functions.cpp"] = text
    for stem, text in bindings.methods_sources(rows).items():
        files[f"bindings/{stem}_methods.cpp"] = text
    for stem in stems(rows):
        own = [row for row in rows if row.file == stem]
        files |= {
            f"ops/{stem}.h": dispatch.header(own),
            f"ops/{stem}_tables.h": dispatch.tables_header(own),
            f"ops/{stem}.cpp": dispatch.source(own, stem),
            f"autograd/{stem}.h": autograd.nodes_header(own),
            f"autograd/{stem}.cpp": autograd.nodes_source(own, stem),
            f"cpu/{stem}.cpp": backends.cpu_source(own, stem),
            f"npu/{stem}.cpp": backends.npu_source(own, stem),
        }
    for family in _TEMPLATE_FAMILIES:
        files[f"kernels/{family}.cpp"] = backends.kernel_instantiations(rows, family)
    return files


def write_if_changed(path: Path, text: str) -> None:
    """Leaves files whose content stays the same alone, so that nothing is rebuilt for them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(prog="codegen", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the generated files")
    options = parser.parse_args()
    for name, text in _outputs(load_table()).items():
        write_if_changed(options.out / name, text)


if __name__ == "__main__":
    main()
