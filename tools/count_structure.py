"""Counts what the layout promises, and fails when a promise is broken: `python tools/count_structure.py`.

`--list` prints what was counted, a line each. tests/test_structure.py holds the same limits.

A count is a function that returns one line of text per finding; `COUNTS` gives it a name and a limit. To add one,
write the function and its line in `COUNTS`.

Note [What counts as an import]
* Every `import` statement, wherever it stands: one inside a function ties modules together as well.
* Under `if TYPE_CHECKING:` only what is passed on (`from .serialization import load as load`): that is how a package
  declares the names that its `__getattr__` imports later. The other imports there serve annotations and never run.
* A name taken from a package counts as taken from the module that defines it. So `torch.nn.Parameter`, after
  `import mindtorch_v2 as torch`, is an import of `nn._parameter`, and `from .. import empty` one of `_functions`. What
  is defined in the package's own `__init__.py`, and the package itself as a value, count as that file.
* Importing a module is not counted as importing the packages around it, although Python runs their `__init__.py`.

Note [Ranks]
tools/python_rooms.toml lists the rooms of the package from the lowest rank to the highest. A room is a module or a
package at the top; a part of one that belongs elsewhere is a room with a line of its own (`utils.hooks`). A room
imports only from rooms of lower ranks; rooms of one rank do not know each other.

Note [Areas in Python]
The stem of ops/<area>.yaml is the name of a file in every layer. In Python that is `_composed/<area>.py`, which has the
functions that rows name with `python:`, and `nn/functional/<area>.py` (or a folder), which has the functions over the
area's operators. Files of either whose names begin with an underscore are no area's.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from codegen.families.composed import InPython  # noqa: E402
from codegen.row import Row  # noqa: E402
from codegen.table import load_table  # noqa: E402
from tools.areas import misplaced  # noqa: E402
from tools.device_names import Layer, rules  # noqa: E402

PACKAGE = "mindtorch_v2"
NATIVE = "_C"  # compiled: below everything, and not read here


# ---- reading the package -------------------------------------------------------------------------------


@dataclass
class Module:
    """One file of the package. `names` has, for each name bound at its top, the module and name it was taken from,
    or None if it is defined here."""

    name: str
    is_package: bool
    tree: ast.Module
    names: dict[str, tuple[str, str | None] | None] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    listed: set[str] = field(default_factory=set)  # in `__all__`, as far as it is written out

    def gives(self, name: str) -> bool:
        """Whether `from … import *` brings a name that this file shows."""
        return name in self.listed if self.listed else name in self.names and not name.startswith("_")

    def origin(self, node: ast.ImportFrom) -> str:
        """The absolute name of the module that a `from` statement names."""
        if node.level == 0:
            return node.module or ""
        parts = self.name.split(".") if self.is_package else self.name.split(".")[:-1]
        parts = parts[: len(parts) - node.level + 1]
        return ".".join([*parts, node.module] if node.module else parts)


@dataclass(frozen=True)
class Import:
    source: str
    target: str
    line: int
    written: str

    def __str__(self) -> str:
        return f"{_short(self.source)}:{self.line}: {self.written} is of {_short(self.target)}"


def _short(module: str) -> str:
    return module.removeprefix(f"{PACKAGE}.") if module != PACKAGE else "the package itself"


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _bindings(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported, with those inside `if`, `with`, `try` and `for`."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from _bindings(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from _bindings(handler.body)


def _read(path: Path, name: str) -> Module:
    module = Module(name, path.name == "__init__.py", ast.parse(path.read_text(), str(path)))
    for node in _bindings(module.tree.body):
        if isinstance(node, ast.ImportFrom):
            origin = module.origin(node)
            for alias in node.names:
                if alias.name == "*":
                    module.stars.append(origin)
                else:
                    module.names[alias.asname or alias.name] = (origin, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                short = alias.asname or alias.name.split(".")[0]
                module.names[short] = (alias.name if alias.asname else short, None)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            module.names[node.name] = None
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                bound = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
                module.names.update(dict.fromkeys(bound))
                if bound == {"__all__"} and isinstance(node.value, ast.List):
                    values = [v.value for v in node.value.elts if isinstance(v, ast.Constant)]
                    module.listed = {value for value in values if isinstance(value, str)}
    return module


class Package:
    """The modules of a package and the imports between them."""

    def __init__(self, folder: Path) -> None:
        self.modules: dict[str, Module] = {}
        self._add(folder, folder.name)
        self.name = folder.name
        self.imports = [found for module in self.modules.values() for found in self._imports_of(module)]

    def _add(self, folder: Path, name: str) -> None:
        """Folders without an `__init__.py` are not part of it: what is there runs under other names."""
        self.modules[name] = _read(folder / "__init__.py", name)
        for path in sorted(folder.glob("*.py")):
            if path.stem != "__init__":
                self.modules[f"{name}.{path.stem}"] = _read(path, f"{name}.{path.stem}")
        for path in sorted(folder.iterdir()):
            if (path / "__init__.py").is_file():
                self._add(path, f"{name}.{path.name}")

    def _defining(self, module: str, path: tuple[str, ...]) -> str:
        """The module that defines what `module.path[0].path[1]…` is; a native one for what is compiled."""
        seen: set[tuple[str, tuple[str, ...]]] = set()
        while (
            path and module in self.modules and self.modules[module].is_package and (module, path) not in seen
        ):
            seen.add((module, path))
            here, (first, *rest) = self.modules[module], path
            if first == NATIVE and module == self.name:
                return f"{module}.{first}"
            if f"{module}.{first}" in self.modules and here.names.get(first) in (None, (module, first)):
                module, path = f"{module}.{first}", tuple(rest)
            elif here.names.get(first) is not None:
                origin, name = here.names[first] or ("", None)
                if origin.split(".")[0] != self.name:
                    return module
                module, path = origin, tuple(rest) if name is None else (name, *rest)
            elif first in here.names:
                return module
            else:
                star = self._star_with(here, first)
                if star is None:
                    return module
                module = star
        return module

    def _star_with(self, module: Module, name: str) -> str | None:
        """Which `from … import *` brings a name. What no file shows is put there at run time, by the last one."""
        ours = [star for star in module.stars if star in self.modules]
        for star in ours:
            found = self.modules[star]
            if found.gives(name) or found.stars and self._star_with(found, name) is not None:
                return star
        return ours[-1] if ours and module.name == self.name else None

    def _imports_of(self, module: Module) -> Iterator[Import]:
        packages: dict[str, str] = {}  # names bound to a package, whose attributes say what is used
        for node, checking in _walk(module.tree, False):
            if isinstance(node, ast.ImportFrom):
                origin = module.origin(node)
                if origin.split(".")[0] != self.name:
                    continue
                for alias in node.names:
                    if checking and alias.name != "*" and alias.asname != alias.name:
                        continue
                    target = self._defining(origin, () if alias.name == "*" else (alias.name,))
                    if self._is_package(target, alias.name) and target != module.name:
                        packages[alias.asname or alias.name] = target
                        if not checking and alias.asname != alias.name:
                            continue  # counted where it is used
                    yield Import(module.name, target, node.lineno, alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.split(".")[0] == self.name:
                        packages[alias.asname or self.name] = alias.name if alias.asname else self.name
                        if alias.name != self.name:
                            yield Import(module.name, alias.name, node.lineno, alias.name)
            elif isinstance(node, ast.Call) and (found := self._called_import(module, node)):
                yield Import(module.name, found, node.lineno, "import_module")
        yield from self._attribute_uses(module, packages)

    def _is_package(self, module: str, name: str) -> bool:
        return module in self.modules and self.modules[module].is_package and module.split(".")[-1] == name

    def _called_import(self, module: Module, node: ast.Call) -> str | None:
        """`import_module(".name", __name__)` and `import_module(f"{__name__}.name")`; others take names from tables,
        which the package declares under `if TYPE_CHECKING:`."""
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called.lstrip("_") != "import_module" or not node.args:
            return None
        text = node.args[0]
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            return f"{module.name}{text.value}" if text.value.startswith(".") else text.value
        if isinstance(text, ast.JoinedStr) and isinstance(text.values[-1], ast.Constant):
            return f"{module.name}{text.values[-1].value!s}"
        return None

    def _attribute_uses(self, module: Module, packages: dict[str, str]) -> Iterator[Import]:
        inner: set[ast.AST] = set()
        for node in ast.walk(module.tree):  # the longest chains first
            if isinstance(node, ast.Attribute) and node not in inner:
                path: list[str] = []
                below: ast.expr = node
                while isinstance(below, ast.Attribute):
                    path.insert(0, below.attr)
                    below = below.value
                    inner.add(below)
                if isinstance(below, ast.Name) and below.id in packages:
                    target = self._defining(packages[below.id], tuple(path))
                    yield Import(module.name, target, node.lineno, ".".join([below.id, *path]))
            elif isinstance(node, ast.Name) and node.id in packages and node not in inner:
                if isinstance(node.ctx, ast.Load):
                    yield Import(module.name, packages[node.id], node.lineno, node.id)


def _walk(node: ast.AST, checking: bool) -> Iterator[tuple[ast.AST, bool]]:
    """All nodes, and whether each is under `if TYPE_CHECKING:`."""
    for child in ast.iter_child_nodes(node):
        yield child, checking
        yield from _walk(child, checking or _is_type_checking(child))


@cache
def package(folder: Path = ROOT / "src" / PACKAGE) -> Package:
    return Package(folder)


# ---- Python: rooms and ranks ---------------------------------------------------------------------------


@cache
def ranks(path: Path = ROOT / "tools" / "python_rooms.toml") -> dict[str, int]:
    """The rank of each room, by its name inside the package."""
    floors = tomllib.loads(path.read_text())["floor"]
    return {room: rank for rank, floor in enumerate(floors) for room in floor["rooms"]}


def room_of(module: str, rooms: dict[str, int]) -> str:
    """The room that a module is in: the longest name of one that its own begins with."""
    parts = module.split(".")[1:] or ["__init__"]
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in rooms:
            return ".".join(parts[:length])
    raise LookupError(f"{module} is in no room of tools/python_rooms.toml; add a line for it")


def upward_imports() -> list[str]:
    """Imports from a room of the same rank or a higher one. Note [Ranks]."""
    rooms, found = ranks(), package()
    upward = []
    for each in found.imports:
        if each.target in found.modules:
            source, target = room_of(each.source, rooms), room_of(each.target, rooms)
            if source != target and rooms[target] >= rooms[source]:
                upward.append(f"{each}, rank {rooms[target]}; {source} has rank {rooms[source]}")
    return upward


def circles_of_imports() -> list[str]:
    """Groups of modules that import each other, directly or through others."""
    found = package()
    below: dict[str, set[str]] = {name: set() for name in found.modules}
    for each in found.imports:
        if each.target in found.modules and each.target != each.source:
            below[each.source].add(each.target)
    return [" <-> ".join(map(_short, sorted(group))) for group in _circles(below)]


def _circles(below: dict[str, set[str]]) -> list[list[str]]:
    """Tarjan's strongly connected components of more than one node, without recursion."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = []
    for start in below:
        if start in number:
            continue
        work = [(start, iter(sorted(below[start])))]
        number[start] = lowest[start] = len(number)
        stack.append(start)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    at = stack.index(node)
                    group = stack[at:]
                    del stack[at:]
                    if len(group) > 1:
                        found.append(group)
            elif following not in number:
                number[following] = lowest[following] = len(number)
                stack.append(following)
                work.append((following, iter(sorted(below[following]))))
            elif following in stack:
                lowest[node] = min(lowest[node], number[following])
    return found


def modules_at_the_top() -> list[str]:
    """The files that lie directly in the package."""
    return [path.name for path in sorted((ROOT / "src" / PACKAGE).glob("*.py"))]


# ---- the table of operators ----------------------------------------------------------------------------


def longest_table_line() -> list[str]:
    """One finding for each column of the longest line of ops/*.yaml."""
    where, longest = "", 0
    for path in sorted((ROOT / "ops").glob("*.yaml")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > longest:
                where, longest = f"{path.relative_to(ROOT)}:{number}", len(line)
    return [where] * longest


# ---- areas ---------------------------------------------------------------------------------------------


def _files_of_areas(folder: Path) -> dict[str, list[Path]]:
    """The files of each area: `<area>.py`, or those in the folder `<area>`."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.py")):
        if not (first := path.relative_to(folder).parts[0]).startswith("_"):
            found.setdefault(first.removesuffix(".py"), []).append(path)
    return found


def _uses(node: ast.stmt) -> set[str]:
    """What a statement asks of others by name: `relu` in `_functions.relu(input)`."""
    return {part.attr.strip("_") for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def _over_operators(path: Path) -> Iterator[str]:
    """The functions of a file that call an operator of their own name, or are it."""
    for node in ast.parse(path.read_text(), str(path)).body:
        bound: set[str] = set()
        if isinstance(node, ast.FunctionDef):
            bound = {node.name}
        elif isinstance(node, ast.Assign):
            bound = {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        yield from sorted(name for name in bound if name.strip("_") in _uses(node))


def python_parts_elsewhere(rows: list[Row], root: Path = ROOT) -> Iterator[str]:
    """What Python has of a row in a file of another area. Note [Areas in Python]."""
    areas = {row.area for row in rows}
    composed, functional = root / "src" / PACKAGE / "_composed", root / "src" / PACKAGE / "nn" / "functional"
    for folder in (composed, functional):
        for area, paths in _files_of_areas(folder).items():
            if area not in areas:
                yield f"{paths[0].relative_to(root)}: there is no ops/{area}.yaml"

    homes: dict[str, set[str]] = {}  # the areas whose file has a function of this name
    for area, paths in _files_of_areas(composed).items():
        for name, origin in _read(paths[0], area).names.items():
            if origin is None:
                homes.setdefault(name, set()).add(area)
    for row in rows:
        if isinstance(row, InPython) and row.area not in (found := homes.get(row.function, set())):
            where = f"in that of {', '.join(sorted(found))}" if found else "nowhere"
            yield f"{row.source}: python: {row.function} is {where}, wanted in _composed/{row.area}.py"

    named: dict[str, list[Row]] = {}
    for row in rows:
        for name in (row.public_name, *row.aliases):
            named.setdefault(name.strip("_"), []).append(row)
    for area, paths in _files_of_areas(functional).items():
        for path in paths:
            for name in _over_operators(path):
                own = named.get(name.strip("_"), [])
                if own and all(row.area != area for row in own):
                    where = f"{path.relative_to(functional)}, wanted in {own[0].area}.py"
                    yield f"{own[0].source}: nn.functional.{name} is in {where}"


def parts_in_another_area() -> list[str]:
    """What lies in a file of another area than its row."""
    rows = load_table()
    return [*misplaced(rows), *python_parts_elsewhere(rows)]


# ---- devices -------------------------------------------------------------------------------------------


def device_names(layer: Layer) -> list[str]:
    """Lines that name a device outside its folders."""
    return list(rules().findings(layer))


# ---- what is counted -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    name: str
    limit: int
    findings: Callable[[], list[str]]


COUNTS = [
    Count("upward imports", 0, upward_imports),
    Count("circles of imports", 0, circles_of_imports),
    Count("modules at the top", 25, modules_at_the_top),
    Count("longest table line", 120, longest_table_line),
    Count("parts in another area", 0, parts_in_another_area),
    *(
        Count(f"device names in {layer.name}", layer.limit, partial(device_names, layer))
        for layer in rules().layers
    ),
]


def main() -> int:
    parser = argparse.ArgumentParser(description="Counts what the layout promises.")
    parser.add_argument("--list", action="store_true", help="print what was counted, a line each")
    options = parser.parse_args()
    exceeded = False
    for count in COUNTS:
        found = count.findings()
        exceeded |= len(found) > count.limit
        print(f"{count.name:<24} {len(found):>5}  (at most {count.limit})")
        if options.list:
            for line in dict.fromkeys(found):
                print(f"    {line}")
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())
