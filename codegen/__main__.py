"""python -m codegen --out FOLDER: writes everything that comes from the operator table."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import autograd, backends, bindings, dispatch, docs
from .table import Row, load_table

_TEMPLATE_FAMILIES = ("unary", "predicate", "binary", "compare", "reduce")


def _outputs(rows: list[Row]) -> dict[str, str]:
    autograd.prepare(rows)
    files = {
        "ops/ops.h": dispatch.header(rows),
        "ops/tables.h": dispatch.tables_header(rows),
        "ops/ops.cpp": dispatch.source(rows),
        "autograd/nodes.h": autograd.nodes_header(rows),
        "autograd/nodes.cpp": autograd.nodes_source(rows),
        "cpu/kernels.h": backends.cpu_header(rows),
        "cpu/cpu_kernels.cpp": backends.cpu_source(rows),
        "npu/kernels.h": backends.npu_header(rows),
        "npu/npu_kernels.cpp": backends.npu_source(rows),
        "bindings/functions.cpp": bindings.functions_source(rows),
        "bindings/methods.cpp": bindings.methods_source(rows),
        "python/_C/__init__.pyi": docs.native_stub(rows),
        "python/_C/_functions.pyi": docs.functions_stub(rows),
        "docs/support_matrix.md": docs.support_matrix(rows),
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
