"""The scan of packages for names that are not here sees what it says it sees."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _load():
    spec = importlib.util.spec_from_file_location("scan_names", ROOT / "tools" / "scan_names.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


scan = _load()


@pytest.fixture
def names_in(tmp_path):
    """(needed at import, touched in functions) of a module that a test writes."""

    def read(source):
        (tmp_path / "package").mkdir(exist_ok=True)
        (tmp_path / "package" / "__init__.py").write_text(source)
        uses = scan.read(scan.packages([tmp_path]))
        return set(uses.at_import), set(uses.inside_functions)

    return read


def test_imports_count_wherever_they_stand(names_in):
    source = (
        "from torch import fx\ndef f():\n    import torch.onnx.utils\n    from torch.jit import trace as t\n"
    )
    assert names_in(source) == ({"torch.fx", "torch.onnx.utils", "torch.jit.trace"}, set())


def test_names_touched_while_a_module_loads_are_needed_to_import_it(names_in):
    source = (
        "import torch\nfrom torch import nn as networks\n@torch.mark\nclass A(networks.Base):\n    x = torch.body\n"
        "    def f(self, a: torch.annotation = torch.default): ...\n"
    )
    names = "torch torch.nn torch.mark torch.nn.Base torch.body torch.annotation torch.default"
    assert names_in(source) == (set(names.split()), set())


def test_names_touched_in_functions_are_a_second_list(names_in):
    source = "import torch\ndef f():\n    return torch.a.b(torch.c)\ng = lambda: torch.d\n"
    assert names_in(source) == ({"torch"}, {"torch.a.b", "torch.c", "torch.d"})


def test_annotations_that_python_does_not_evaluate_are_not_needed_to_import(names_in):
    source = (
        "from __future__ import annotations\nimport torch\nx: torch.a\ndef f(y: torch.b) -> torch.c: ...\n"
    )
    assert names_in(source) == ({"torch"}, {"torch.a", "torch.b", "torch.c"})


def test_imports_for_annotations_do_not_count(names_in):
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch import fx\n"
    assert names_in(source) == (set(), set())


def test_a_name_for_a_name_is_followed(names_in):
    source = "import torch\naten = torch.ops.aten\n@register(aten.a.default)\ndef f():\n    return aten.b\n"
    assert names_in(source) == ({"torch", "torch.ops.aten", "torch.ops.aten.a.default"}, {"torch.ops.aten.b"})


def test_a_variable_that_has_the_name_of_a_module_is_a_variable(names_in):
    source = "from torch import nn\ndef f(nn):\n    return nn.a\ndef g():\n    nn = 1\n    return nn.b\n"
    assert names_in(source) == ({"torch.nn"}, set())


def test_what_is_assigned_to_need_not_be_there(names_in):
    assert names_in("import torch\ntorch.backends.new = 1\n") == ({"torch", "torch.backends"}, set())


def test_the_report_counts_packages_and_names_a_place(tmp_path):
    for package in ("one", "two"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("from torch import no_such_thing, nn\n")
    (tmp_path / "three.py").write_text("import torch\nx = torch.nn.neither_this\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "scan_names.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[-2:] == [
        ["2", "torch.no_such_thing", "one/__init__.py:1"],
        ["1", "torch.nn.neither_this", "three.py:2"],
    ]
    assert "reading 3 of 3" in done.stderr
