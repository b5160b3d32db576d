"""Lists the `torch.…` names that packages use and this library does not have, by number of packages.

    python tools/scan_names.py FOLDER ... [--reference PYTHON] [--inside-functions] [--top N] [--all-names]

A FOLDER holds packages as `pip install --no-deps --target FOLDER` leaves them. Their files are parsed; nothing of them
is imported or run. `--reference` names a Python that has PyTorch: names that it has not either are left out, which
are those of other versions and of variables that look like modules.

Note [What a package needs to be imported]
The first list has what a package cannot be imported without: imports, wherever they stand, and names touched while a
module is loaded: at its top, in class bodies, as decorators, base classes, default arguments, and in annotations that
Python evaluates. The second (`--inside-functions`) has names touched when functions run. What stands under
`if TYPE_CHECKING:` is in neither.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_THE_PACKAGE = {
    "test",
    "tests",
    "testing",
    "examples",
    "example",
    "benchmarks",
    "docs",
    "scripts",
    "tutorials",
}

# Runs in the library that is asked: names come as JSON, those that it has not go back, each with the reason.
CHECK = """
import contextlib, importlib, io, json, sys, warnings
warnings.simplefilter("ignore")
import torch

def find(name):
    found, parts = torch, name.split(".")
    for length, part in enumerate(parts[1:], 2):
        try:
            if not hasattr(found, part) and hasattr(found, "__path__"):
                importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError as absent:
            if absent.name is not None and absent.name.split(".")[0] not in ("torch", "mindtorch_v2"):
                return  # it is there, and needs a package that is not installed
        found = getattr(found, part)

def find_imported(name):  # a module that something else of its name hides from attributes
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)

names, missing = json.load(sys.stdin), {}
for count, name in enumerate(names):
    if count % 200 == 0:
        print(f"\\r{sys.argv[1]}: {count} of {len(names)} names", end="", file=sys.stderr, flush=True)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                find(name)
            except AttributeError:
                find_imported(name)
    except Exception as error:
        missing[name] = f"{type(error).__name__}: {error}".splitlines()[0]
print(file=sys.stderr)
json.dump(missing, sys.stdout)
"""


@dataclass
class Uses:
    """Where names are used: {name: {package: a place}}."""

    at_import: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    inside_functions: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))

    def names(self) -> list[str]:
        return sorted({*self.at_import, *self.inside_functions})


class File(ast.NodeVisitor):
    """Finds the names in one file. `known` maps what is bound in a scope to the torch name it stands for."""

    def __init__(self, tree: ast.Module, package: str, place: str, uses: Uses) -> None:
        self.package, self.place, self.uses = package, place, uses
        self.known: dict[str, str] = {}
        self.depth = 0  # of functions around the current place
        self.late_annotations = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(alias.name == "annotations" for alias in node.names)
            for node in tree.body
        )
        for node in tree.body:  # functions may use what is imported below them
            self._bind_imports(node)
            self._bind_assigned(node)
        self.visit(tree)

    def _add(self, name: str, node: ast.AST, at_import: bool) -> None:
        if any(part.startswith("__") for part in name.split(".")[1:]):
            return
        table = self.uses.at_import if at_import else self.uses.inside_functions
        table[name].setdefault(self.package, f"{self.place}:{getattr(node, 'lineno', 0)}")

    # ---- what names stand for

    def _bind_imports(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "torch":
                    self.known[alias.asname or "torch"] = alias.name if alias.asname else "torch"
                else:
                    self.known.pop(alias.asname or alias.name.split(".")[0], None)
        elif isinstance(node, ast.ImportFrom):
            of_torch = node.level == 0 and (node.module or "").split(".")[0] == "torch"
            for alias in node.names:
                if of_torch and alias.name != "*":
                    self.known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                else:
                    self.known.pop(alias.asname or alias.name, None)

    def visit_Import(self, node: ast.Import) -> None:
        self._bind_imports(node)
        for alias in node.names:
            if alias.name.split(".")[0] == "torch":
                self._add(alias.name, node, at_import=True)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._bind_imports(node)
        if node.level == 0 and node.module and node.module.split(".")[0] == "torch":
            for alias in node.names:
                name = node.module if alias.name == "*" else f"{node.module}.{alias.name}"
                self._add(name, node, at_import=True)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)
        self._bind_assigned(node)

    def _bind_assigned(self, node: ast.AST) -> None:
        """`aten = torch.ops.aten` is a name for what it names."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            chain = self._chain(node.value)
            if chain is not None and isinstance(node.value, ast.Attribute):
                self.known[node.targets[0].id] = chain

    # ---- names that are touched

    def _chain(self, node: ast.expr) -> str | None:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.known:
            return None
        return ".".join([self.known[node.id], *reversed(parts)])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        # What is assigned to may be new; what it is an attribute of must be there.
        touched = node.value if isinstance(node.ctx, (ast.Store, ast.Del)) else node
        name = self._chain(touched)
        if name is None:
            self.visit(node.value)
        elif name != "torch":
            self._add(name, node, at_import=self.depth == 0)

    # ---- scopes

    def visit_If(self, node: ast.If) -> None:
        if _says(node.test, "TYPE_CHECKING"):
            for child in node.body:  # what is bound there can only be used in annotations that are text
                self._bind_imports(child)
        elif isinstance(node.test, ast.Compare) and _says(node.test.left, "__name__"):
            self.depth += 1
            self._visit_all(node.body)
            self.depth -= 1
        else:
            self.visit(node.test)
            self._visit_all(node.body)
        self._visit_all(node.orelse)

    def _visit_all(self, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            self.visit(node)

    def _visit_annotation(self, node: ast.expr | None) -> None:
        if node is not None:
            self.depth += self.late_annotations
            self.visit(node)
            self.depth -= self.late_annotations

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._visit_annotation(node.annotation)
        for part in (node.target, node.value):
            if part is not None:
                self.visit(part)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.visit(part)
        arguments = _arguments(node.args)
        for argument in arguments:
            self._visit_annotation(argument.annotation)
        self._visit_annotation(node.returns)
        self._visit_inside(arguments, node.body)

    def _visit_inside(self, arguments: list[ast.arg], body: list[ast.stmt]) -> None:
        outside, self.known = self.known, dict(self.known)
        for name in (*(argument.arg for argument in arguments), *_assigned(body)):
            self.known.pop(name, None)
        self.depth += 1
        self._visit_all(body)
        self.depth -= 1
        self.known = outside

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for part in (*node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.visit(part)
        self._visit_inside(_arguments(node.args), [ast.Expr(node.body)])


def _says(node: ast.expr, name: str) -> bool:
    """Whether an expression is a name, or that attribute of something."""
    return name == (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None))


def _arguments(node: ast.arguments) -> list[ast.arg]:
    found = [*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg]
    return [argument for argument in found if argument is not None]


def _assigned(body: list[ast.stmt]) -> Iterator[str]:
    """The names that a function binds other than by imports, without those of functions inside it."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif not isinstance(node, ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


# ---- packages ------------------------------------------------------------------------------------------


def packages(folders: list[Path]) -> dict[str, list[tuple[Path, str]]]:
    """The files of each package that lies in one of the folders, and how to call them. PyTorch itself is left out."""
    found: dict[str, list[tuple[Path, str]]] = {}
    for folder in folders:
        for top in sorted(folder.iterdir()):
            if top.name == "torch" or top.stem.lower() in NOT_THE_PACKAGE or not top.stem.isidentifier():
                continue
            files = [top] if top.suffix == ".py" else sorted(top.rglob("*.py")) if top.is_dir() else []
            for file in files:
                if not NOT_THE_PACKAGE & set(file.relative_to(top).parts[:-1]):
                    found.setdefault(top.stem, []).append((file, str(file.relative_to(folder))))
    return found


def read(files: dict[str, list[tuple[Path, str]]]) -> Uses:
    """Parses every file, and says which package is being read."""
    uses = Uses()
    for count, (package, paths) in enumerate(sorted(files.items()), 1):
        progress = f"reading {count} of {len(files)}: {package} ({len(paths)} files)"
        print(f"\r{progress:78.78}", end="", file=sys.stderr, flush=True)
        for path, place in paths:
            text = path.read_bytes()
            if b"torch" not in text:
                continue
            try:
                with warnings.catch_warnings(action="ignore"):
                    tree = ast.parse(text)
            except (SyntaxError, ValueError) as error:  # of another Python, or no text
                print(f"\nnot read: {place}: {error}", file=sys.stderr)
                continue
            File(tree, package, place, uses)
    print(file=sys.stderr)
    return uses


def missing(command: list[str], who: str, names: list[str]) -> dict[str, str]:
    """The names that the library has not which `command`, a Python, imports as torch."""
    done = subprocess.run(
        [*command, "-c", CHECK, who], input=json.dumps(names), stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def report(title: str, uses: dict[str, dict[str, str]], absent: set[str], top: int | None) -> None:
    """Prints a line per name: how many packages use it, the name, and one place."""
    ranked = sorted(
        (item for item in uses.items() if item[0] in absent), key=lambda item: (-len(item[1]), item[0])
    )
    print(f"{title}: {len(ranked)} names")
    for name, places in ranked[:top]:
        print(f"{len(places):5}  {name:70} {min(places.values())}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, help="where packages are installed")
    parser.add_argument("--reference", help="a Python with PyTorch; names that it has not are left out")
    parser.add_argument(
        "--inside-functions", action="store_true", help="also list names touched in functions"
    )
    parser.add_argument("--top", type=int, help="show that many names of a list")
    parsed = parser.parse_args()

    files = packages(parsed.folders)
    uses = read(files)
    names = uses.names()
    absent = set(missing([sys.executable, "-m", "mindtorch_v2", "run"], "here", names))
    if parsed.reference:
        absent -= set(missing([parsed.reference], "PyTorch", sorted(absent)))
    print(f"{len(files)} packages use {len(names)} names")
    report("Not here, needed to import packages", uses.at_import, absent, parsed.top)
    if parsed.inside_functions:
        print()
        report("Not here, touched inside functions", uses.inside_functions, absent, parsed.top)


if __name__ == "__main__":
    main()
