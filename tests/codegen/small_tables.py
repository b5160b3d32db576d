"""Tables of a few rows, written to a folder called ops."""

from __future__ import annotations

from pathlib import Path

import pytest
from codegen.reader import TableError
from codegen.row import Row
from codegen.table import load_table


def table(folder: Path, **files: str) -> Path:
    """A folder with one file for each name; a text may begin on its second line."""
    ops = folder / "ops"
    ops.mkdir()
    for name, text in files.items():
        (ops / f"{name}.yaml").write_text(text.removeprefix("\n"))
    return ops


def rows(folder: Path, **files: str) -> dict[str, Row]:
    return {row.name: row for row in load_table(table(folder, **files))}


def refusal(folder: Path, **files: str) -> str:
    """What is said about a table that cannot be used."""
    with pytest.raises(TableError) as raised:
        load_table(table(folder, **files))
    return str(raised.value)
