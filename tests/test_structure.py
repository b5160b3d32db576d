"""The layout keeps its promises, and the script that counts them sees what it says it sees."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def _load():
    spec = importlib.util.spec_from_file_location("count_structure", ROOT / "tools" / "count_structure.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


structure = _load()


@pytest.fixture(scope="module", autouse=True)
def forgotten():
    """The trees of all files are a million objects, which every later search for cycles would look at."""
    yield
    structure.package.cache_clear()


@pytest.mark.parametrize("count", structure.COUNTS, ids=lambda count: count.name)
def test_no_count_exceeds_its_limit(count):
    found = count.findings()
    shown = "\n".join(dict.fromkeys(found))
    assert len(found) <= count.limit, f"{count.name}: {len(found)}, at most {count.limit}\n{shown}"


def test_every_room_of_the_table_is_in_the_package():
    modules = structure.package().modules
    stale = [
        room for room in structure.ranks() if room != "__init__" and f"mindtorch_v2.{room}" not in modules
    ]
    assert stale == []


@pytest.fixture
def imports_of(tmp_path):
    """The imports between the modules of a package that a test writes: {path: source}."""

    def read(files):
        folder = tmp_path / "mindtorch_v2"
        for path, source in {"__init__.py": "", **files}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(source)
            if not ((folder / path).parent / "__init__.py").exists():
                ((folder / path).parent / "__init__.py").write_text("")
        found = structure.Package(folder)
        short = {name: name.removeprefix("mindtorch_v2.") for name in found.modules}
        return {(short[each.source], short[each.target]) for each in found.imports if each.target in short}

    return read


def test_an_import_inside_a_function_counts(imports_of):
    assert imports_of({"a.py": "def f():\n    from .b import g\n", "b.py": "def g(): ..."}) == {("a", "b")}


def test_an_import_for_annotations_does_not_count(imports_of):
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import g\n"
    assert imports_of({"a.py": source, "b.py": "def g(): ..."}) == set()


def test_a_name_that_is_passed_on_late_counts(imports_of):
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import g as g\n"
    assert imports_of({"a.py": source, "b.py": "def g(): ..."}) == {("a", "b")}


def test_a_name_of_the_package_counts_as_its_module(imports_of):
    files = {
        "__init__.py": "from . import room as room\nfrom .low import f as f\n",
        "low.py": "def f(): ...",
        "room/__init__.py": "from .part import *\n",
        "room/part.py": "__all__ = ['g']\ndef g(): ...",
        "user.py": "import mindtorch_v2 as torch\ntorch.f()\ntorch.room.g()\n",
    }
    assert {pair for pair in imports_of(files) if pair[0] == "user"} == {
        ("user", "low"),
        ("user", "room.part"),
    }


def test_the_package_as_a_value_counts_as_the_package(imports_of):
    files = {"user.py": "import mindtorch_v2 as torch\nprint(getattr(torch, 'name'))\n"}
    assert imports_of(files) == {("user", "mindtorch_v2")}


def test_a_native_name_is_no_import_of_the_package(imports_of):
    files = {
        "__init__.py": "from . import _C as _C\n",
        "user.py": "from . import _C\nfrom ._C import Tensor\n",
    }
    assert imports_of(files) == set()


def test_a_module_imported_by_its_text_counts(imports_of):
    source = "from importlib import import_module\ndef f():\n    return import_module('.b', __name__)\n"
    assert imports_of({"room/__init__.py": source, "room/b.py": ""}) == {("room", "room.b")}


def test_circles_are_found_through_other_modules():
    below = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}
    assert [sorted(group) for group in structure._circles(below)] == [["a", "b", "c"]]


def test_a_module_without_a_room_is_an_error():
    with pytest.raises(LookupError, match="mindtorch_v2.new is in no room"):
        structure.room_of("mindtorch_v2.new", {"nn": 0})
    assert structure.room_of("mindtorch_v2.utils.hooks", {"utils": 1, "utils.hooks": 0}) == "utils.hooks"


@pytest.fixture
def elsewhere(tmp_path):
    """What lies in a file of another area, of {path in the repository: text} that a test writes."""

    def read(files):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return list(structure.python_parts_elsewhere(structure.load_table(tmp_path / "ops"), tmp_path))

    return read


ROT90 = "ops:\n- op: rot90(Tensor self) -> Tensor\n  python: rot90\n"
RELU = "ops:\n- op: relu(Tensor self) -> Tensor\n  composite: relu\n"
SORT = "ops:\n- op: sort(Tensor self) -> Tensor\n  composite: sort\n"


def test_a_function_of_a_row_belongs_into_the_file_of_its_area(elsewhere):
    table = {"ops/shape.yaml": ROT90, "ops/sort.yaml": SORT}
    own, other = (f"src/mindtorch_v2/_composed/{area}.py" for area in ("shape", "sort"))
    wanted = "wanted in _composed/shape.py"
    assert elsewhere(table) == [f"ops/shape.yaml:2: rot90: python: rot90 is nowhere, {wanted}"]
    assert elsewhere({own: "from .sort import rot90\n", other: "def rot90(self): ...\n"}) == [
        f"ops/shape.yaml:2: rot90: python: rot90 is in that of sort, {wanted}"
    ]
    assert elsewhere({own: "def rot90(self): ...\n"}) == []


def test_a_function_over_an_operator_belongs_into_the_file_of_its_area(elsewhere):
    table = {"ops/unary.yaml": RELU, "ops/sort.yaml": SORT}
    text = "def relu(input):\n    return input.relu()\n"
    own, other = (f"src/mindtorch_v2/nn/functional/{path}" for path in ("unary/simple.py", "sort.py"))
    assert elsewhere({**table, other: text}) == [
        "ops/unary.yaml:2: relu: nn.functional.relu is in sort.py, wanted in unary.py"
    ]
    assert elsewhere({**table, other: "", own: text}) == []


def test_a_function_that_only_has_the_name_of_an_operator_may_be_anywhere(elsewhere):
    text = "def relu(input):\n    return _nn.clamp(input, 0)\n"
    files = {"ops/unary.yaml": RELU, "ops/sort.yaml": SORT, "src/mindtorch_v2/nn/functional/sort.py": text}
    assert elsewhere(files) == []


@pytest.mark.parametrize("folder", ["_composed", "nn/functional"])
def test_a_file_has_the_name_of_an_area(elsewhere, folder):
    files = {
        f"src/mindtorch_v2/{folder}/{name}.py": "" for name in ("__init__", "_shared", "unary", "vision")
    }
    assert elsewhere({"ops/unary.yaml": RELU, **files}) == [
        f"src/mindtorch_v2/{folder}/vision.py: there is no ops/vision.yaml"
    ]


@pytest.fixture
def named(tmp_path):
    """What is found of {path: text} that a test writes, where `a` is a device's folder and `b/c.py` may say `cuda`."""
    names = sys.modules["tools.device_names"]

    def read(files):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        layer = names.Layer("b", ("**/*.py",), ("a/*",), 0)
        allowed = names.Allowed(("cuda",), ("b/c.py",), "a test")
        rules = names.Rules(names.rules().names, [layer], [allowed])
        return list(rules.findings(layer, tmp_path)), rules.stale(tmp_path)

    return read


@pytest.mark.parametrize(
    "line",
    ["x.is_npu", "NpuRuntime()", "# as on an NPU", "aclnnAdd(x)", '"torch_npu"', "MINDTORCH_NPU", "NPUs"],
)
def test_a_device_is_named_by_any_part_of_a_word(named, line):
    found, _ = named({"b/d.py": f"first\n{line}\n"})
    assert len(found) == 1 and found[0].startswith("b/d.py:2: ") and found[0].endswith(line)


@pytest.mark.parametrize("line", ["input", "ascending", "scan", "oracle", "xputs", "tracl"])
def test_letters_inside_another_word_name_no_device(named, line):
    assert named({"b/d.py": line})[0] == []


def test_a_devices_own_folder_may_name_it_and_a_listed_place_a_word_of_pytorchs(named):
    assert named({"a/x.py": "npu", "b/c.py": "is_cuda"}) == ([], [])
    found, stale = named({"b/c.py": "is_npu"})
    assert found == ["b/c.py:1: npu: is_npu"] and stale == ["b/c.py: nothing there says cuda"]


def test_every_place_of_the_list_of_pytorchs_words_has_one():
    unfinished = tuple(f"{layer.name}/" for layer in structure.rules().layers if layer.limit)
    assert [place for place in structure.rules().stale() if not place.startswith(unfinished)] == []
