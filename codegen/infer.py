"""generated/infer: shape rules and checks, declared in a header per area. csrc/infer/<area>.cpp defines them."""

from __future__ import annotations

from .dispatch import BANNER
from .row import DeviceRow, Row


def header(rows: list[Row], area: str) -> str:
    """Of an area's rows; empty where none of them names a function."""
    declared = {text for r in rows if isinstance(r, DeviceRow) for text in r.rule_declarations()}
    if not declared:
        return ""
    return "\n".join([
        BANNER + "#pragma once\n",
        '#include "infer/infer.h"\n',
        f"// Written by hand in csrc/infer/{area}.cpp.",
        "namespace mt::infer {\n",
        *sorted(declared),
        "\n}  // namespace mt::infer",
        "",
    ])  # fmt: skip
