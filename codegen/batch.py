"""generated/batch: how vmap runs the operators of the table on batches (Note [Batches] in csrc/transforms/batch.h)."""

from __future__ import annotations

import functools
import re

from . import schema_types
from .dispatch import BANNER
from .families.kernels import InPlace
from .operators import functions
from .reader import ROOT, Entry
from .row import Row, areas
from .schema import Argument

SHARED = ("elementwise", "dims", "leading", "fold")  # of csrc/transforms/batch_rules.cpp
_DIMENSIONS = ("dim", "dims", "dim0", "dim1", "dim2", "axis0", "axis1", "dimension")
_SIZES = ("size", "input_size", "input_sizes")
_BY_FAMILY = {
    "unary": "elementwise", "predicate": "elementwise", "binary": "elementwise", "compare": "elementwise",
    "reduce": "dims",
}  # fmt: skip


def read(entry: Entry, family: type[Row]) -> str:
    """`batch:` of a row, or what its family has."""
    text = entry.text("batch")
    if text is None:
        return _BY_FAMILY.get(family.family, "")
    if family.made_of_others and not entry.flag("factory"):
        entry.fail("batch: says nothing here: the parts of the row are run on batches", "batch")
    if text not in SHARED and text not in _written(entry.area):
        entry.fail(
            f"batch: {text}: wanted {', '.join(SHARED)} or a function of csrc/transforms/batch/{entry.area}.cpp",
            "batch",
        )
    return str(text)


@functools.cache
def _written(area: str) -> frozenset[str]:
    """The rules that an area has of its own."""
    path = ROOT / "csrc" / "transforms" / "batch" / f"{area}.cpp"
    text = path.read_text() if path.exists() else ""
    return frozenset(re.findall(r"^Values (\w+)\(Call&", text, re.MULTILINE))


def _role(argument: Argument) -> str:
    kind = argument.type
    if kind.holds_tensors:
        return "t" if kind.tensor else "l"
    if argument.name in _DIMENSIONS and kind.kind == schema_types.INT.kind:
        return "d"
    if argument.name in _DIMENSIONS and kind.length == 1:
        return "A"
    if argument.name in _DIMENSIONS and kind.kind == schema_types.INTS.kind:
        return "D"
    return "s" if argument.name in _SIZES and kind.kind == schema_types.INTS.kind else "-"


def _entries(row: Row) -> list[str]:
    roles = "".join(map(_role, row.schema.arguments)) + ("----" if row.factory else "")
    lines = []
    for function in functions(row):
        if function.outs:
            continue
        written = -1
        if isinstance(row, InPlace):
            written = row.schema.names.index(row.target)
        elif function.name == f"{row.cpp_name}_":
            written = 0
        lines.append(
            f'      {{"aten::{function.name}", "{function.overload}", {{&{row.batch}, "{roles}", {written}}}}},'
        )
    return lines


def header(rows: list[Row], area: str) -> str:
    """The functions of the area's own file; empty where it has none."""
    own = sorted({row.batch for row in rows} - {"", *SHARED})
    if not own:
        return ""
    return "\n".join([
        BANNER + "#pragma once\n",
        '#include "transforms/batch.h"\n',
        f"// Written by hand in csrc/transforms/batch/{area}.cpp.",
        "namespace mt::batch {\n",
        *[f"Values {name}(Call& call);" for name in own],
        "\n}  // namespace mt::batch",
        "",
    ])  # fmt: skip


def source(rows: list[Row], area: str) -> str:
    entries = [line for row in rows if row.batch for line in _entries(row)]
    if not entries:
        return ""
    own = [f'#include "generated/batch/{area}.h"'] if header(rows, area) else []
    return "\n".join([
        BANNER,
        *own,
        '#include "transforms/batch.h"\n',
        "namespace mt::batch {\n",
        f"void add_{area}_rules();\n",
        f"void add_{area}_rules() {{",
        "  static constexpr struct {",
        "    const char *name, *overload;",
        "    BatchRule rule;",
        "  } rules[] = {",
        *entries,
        "  };",
        "  for (const auto& each : rules) set_batch_rule(each.name, each.overload, each.rule);",
        "}",
        "\n}  // namespace mt::batch",
        "",
    ])  # fmt: skip


def register_source(rows: list[Row]) -> str:
    """What adds them all."""
    names = [area for area in areas(rows) if source([r for r in rows if r.area == area], area)]
    return "\n".join([
        BANNER,
        '#include "transforms/batch.h"\n',
        "namespace mt::batch {\n",
        *[f"void add_{name}_rules();" for name in names],
        "\nvoid register_rules() {",
        *[f"  add_{name}_rules();" for name in names],
        "}",
        "\n}  // namespace mt::batch",
        "",
    ])  # fmt: skip
