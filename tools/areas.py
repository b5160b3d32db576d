"""Say which functions that rows of the table name are not in the file of their area.

    python tools/areas.py

A row of ops/sort.yaml has its shape rule in csrc/infer/sort.cpp, its cells in csrc/backends/cpu/sort.cpp and
csrc/backends/npu/sort.cpp, and what is made of other operators in csrc/ops/*/sort.cpp. The compiler refuses a function
in another area's file; this also finds those that are declared by hand somewhere. One that is nowhere does not link.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from codegen.cells import HandWritten, Substitute  # noqa: E402
from codegen.row import DeviceRow, Row  # noqa: E402
from codegen.table import load_table  # noqa: E402

FOLDERS = {
    "infer": "csrc/infer",
    "cpu": "csrc/backends/cpu",
    "npu": "csrc/backends/npu",
    "composites": "csrc/ops/composites",
    "substitutes": "csrc/ops/substitutes",
    "any_device": "csrc/ops/any_device",
}
_PRIVATE = re.compile(r"^namespace \{$.*?^\}  // namespace$", re.MULTILINE | re.DOTALL)
# A definition, or a macro that stands for one: MT_NUMBER_LEFT(name, ...)
_DEFINED = re.compile(r"^(?:[\w:][\w:<>, ]*[\w>] |[A-Z]\w*\()(\w+)(?:\([^;{}]*\) \{|[,)])", re.MULTILINE)


def named(row: Row) -> Iterator[tuple[str, str]]:
    """The layers where somebody wrote a function for the row, and its name."""
    if made := row.helper():
        layer, declaration = made
        yield layer, declaration.partition("(")[0].split()[-1]
    if not isinstance(row, DeviceRow):
        return
    for declaration in row.rule_declarations():
        yield "infer", declaration.removeprefix("void ").partition("(")[0]
    if row.has_table and row.cpu and row.cpu_declaration:
        yield "cpu", row.cpu
    if isinstance(row.npu, HandWritten):
        yield "npu", row.npu.function
    if isinstance(row.npu, Substitute):
        yield "substitutes", row.npu.function


def defined(folder: Path) -> dict[str, set[str]]:
    """The files that define each function, apart from what they keep to themselves."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.glob("*.cpp")):
        for name in _DEFINED.findall(_PRIVATE.sub("", path.read_text())):
            found.setdefault(name, set()).add(path.stem)
    return found


def misplaced(rows: list[Row], root: Path = ROOT) -> list[str]:
    """A line for every function of a row that is not in the file of the row's area."""
    functions = {layer: defined(root / folder) for layer, folder in FOLDERS.items()}
    problems = []
    for row in rows:
        for layer, name in named(row):
            places = functions[layer].get(name, set())
            if places and row.area not in places:
                wanted, found = f"{FOLDERS[layer]}/{row.area}.cpp", ", ".join(sorted(places))
                problems.append(f"{row.source}: {layer}: {name} is in {found}, wanted in {wanted}")
    return problems


if __name__ == "__main__":
    lines = misplaced(load_table())
    print("\n".join([*lines, f"{len(lines)} functions are not in the file of their area."]))
    sys.exit(bool(lines))
