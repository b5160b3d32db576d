"""The stubs of the native module say what the module has: no more, no less, with the parameters it takes."""

import ast
import enum
import importlib
import inspect
import re
from pathlib import Path

import pytest

import mindtorch_v2 as torch

FOLDER = Path(torch.__file__).parent / "_C"
STUBS = sorted(FOLDER.rglob("*.pyi"))
TYPING_ONLY = {"Number", "DeviceLike", "_DeviceCalls"}  # names for annotations, which exist in stubs alone


def module_name(path):
    parts = ["mindtorch_v2", "_C", *path.relative_to(FOLDER).with_suffix("").parts]
    return ".".join(part for part in parts if part != "__init__")


def definitions(body):
    """The functions, classes and attributes that a stub declares, by name; overloads as a list."""
    found = {}
    for node in body:
        if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["NamedTuple"]:
            continue  # the type of named results, which exists in stubs alone
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.AnnAssign):
            found.setdefault(node.target.id, []).append(node)
        elif isinstance(node, ast.Assign):  # a member of an enumeration
            found.setdefault(node.targets[0].id, []).append(node)
        elif isinstance(node, ast.ImportFrom) and node.module is None:  # from . import rt as rt
            for alias in node.names:
                if alias.asname == alias.name:
                    found.setdefault(alias.name, []).append(node)
    return found


def is_imported(member):
    """Whether it is a module with a place to come from, which an import puts beside the native ones."""
    return inspect.ismodule(member) and member.__spec__ is not None


def own_names(thing):
    """What `thing` itself has, without the dunders that Python adds to everything."""
    if isinstance(thing, enum.EnumMeta):
        return set(thing.__members__)
    return {
        name for name, member in vars(thing).items() if not name.startswith("__") and not is_imported(member)
    }


def parameters(function):
    given = function.args
    return [a.arg for a in [*given.posonlyargs, *given.args, *given.kwonlyargs]]


def compare_parameters(where, declared, native):
    """nanobind keeps signatures; parameters without a name are called arg or arg0 there."""
    signatures = getattr(native, "__nb_signature__", None)
    if signatures is None or len(signatures) != 1 or len(declared) != 1:
        return
    text = re.sub(r"\\\d+", "...", signatures[0][0])  # \0 stands for a default value
    wanted = parameters(ast.parse(f"{text}: ...").body[0])
    got = parameters(declared[0])
    assert len(got) == len(wanted), f"{where}: the stub has parameters {got}, the module {wanted}"
    for mine, theirs in zip(got, wanted, strict=True):
        assert re.fullmatch(r"arg\d*", theirs) or mine == theirs, f"{where}: {mine} is {theirs} in the module"


def compare(where, declared, native):
    stub_names = {name for name in declared if not name.startswith("__")}
    # Aliases such as _dtype, and type variables, are private to the stub.
    missing = stub_names - own_names(native) - TYPING_ONLY - {"_dtype", "_device", "_memory_format", "_T"}
    assert not missing, f"{where}: the stub declares what does not exist: {sorted(missing)}"
    unknown = own_names(native) - stub_names
    assert not unknown, f"{where}: the stub lacks {sorted(unknown)}"
    for name, nodes in declared.items():
        if name in TYPING_ONLY or name.startswith("__"):
            continue
        native_member = inspect.getattr_static(native, name, None)
        if isinstance(nodes[0], ast.ClassDef):
            # What classes share stands in a base that only the stub has.
            bases = [
                declared[base.id][0] for base in nodes[0].bases if getattr(base, "id", None) in TYPING_ONLY
            ]
            body = [node for part in [*bases, nodes[0]] for node in part.body]
            compare(f"{where}.{name}", definitions(body), native_member)
        elif isinstance(nodes[0], ast.FunctionDef):
            compare_parameters(f"{where}.{name}", nodes, getattr(native_member, "__func__", native_member))


@pytest.mark.parametrize("path", STUBS, ids=module_name)
def test_stub_matches_the_module(path):
    name = module_name(path)
    compare(name, definitions(ast.parse(path.read_text()).body), importlib.import_module(name))


def test_every_native_module_has_a_stub():
    names = {module_name(path) for path in STUBS}
    for name in sorted(names):
        inner = inspect.getmembers(importlib.import_module(name), inspect.ismodule)
        assert {f"{name}.{member}" for member, found in inner if not is_imported(found)} <= names


def test_named_results_have_the_fields_that_the_stub_says():
    tree = ast.parse((FOLDER / "__init__.pyi").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    fields = [node.target.id for node in classes["_values_indices"].body]
    result = torch.ones(2, 2).max(dim=0)
    assert all(getattr(result, name) is result[i] for i, name in enumerate(fields))
