"""Rows as a table of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def table_text(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns two spaces apart under their names; columns of numbers stand to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    columns = list(zip(headers, *cells, strict=True))
    made = []
    for header, *column in columns:
        width = max(map(len, (header, *column)))
        if header == columns[0][0] and not column:
            width = len(header)
        right = bool(column) and all(map(_is_number, column))
        padded = [text.rjust(width) if right else text.ljust(width) for text in (header, *column)]
        made.append([padded[0], "-" * width, *padded[1:]])
    return "\n".join("  ".join(line).rstrip() for line in zip(*made, strict=True))
