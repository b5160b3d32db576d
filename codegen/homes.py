"""In which header of generated/ops an operator is declared, so that generated files include only what they call."""

from __future__ import annotations

from collections.abc import Iterable

from .row import Row

Homes = dict[str, list[str]]  # a name of ops::, and the areas that have overloads of it


def homes(rows: list[Row]) -> Homes:
    """Where operators are declared: the areas of each name of ops::."""
    found: Homes = {}
    for row in rows:
        for name in (declaration.partition("(")[0].split()[-1] for declaration in row.declarations()):
            if row.area not in found.setdefault(name, []):
                found[name].append(row.area)
    return found


def headers_of(names: Iterable[str], homes: Homes) -> list[str]:
    """Includes for those of the names that are operators."""
    used = sorted({area for name in names for area in homes.get(name, [])})
    return [f'#include "generated/ops/{area}.h"' for area in used]
