"""Every operator of the software NPU, over its dtypes and over views, against PyTorch's values."""

import ctypes
import importlib
from pathlib import Path

import pytest
from cases_together import go_through, grouped

import mindtorch_v2
from mindtorch_v2 import softnpu
from mindtorch_v2._backends.npu import aclnn

from .harness import CASES, Case, run

for _file in sorted(Path(__file__).parent.glob("cases_*.py")):
    importlib.import_module(f".{_file.stem}", __package__)

_RUNS = [(case, dtype, layout) for case in CASES for dtype in case.dtypes for layout in case.layouts]


def implemented() -> list[str]:
    mindtorch_v2.npu.init()
    library = ctypes.CDLL(str(softnpu.lib_folder() / "libopapi.so"))
    return [name for name in aclnn.operators() if library.softnpu_implements(name.encode())]


@pytest.mark.parametrize("cases", grouped(_RUNS, lambda case, dtype, layout: (case.operator,)))
def test_an_operator_gives_pytorchs_values(cases):
    go_through(cases, run, label=Case.label)


def test_every_implemented_operator_has_a_case():
    tried = {case.operator for case in CASES}
    tried.add("aclnnSleep")  # computes nothing; tests/npu tries it
    missing = [name for name in implemented() if name not in tried]
    assert not missing, f"{len(missing)} operators compute but nothing compares them with PyTorch: {missing}"


def test_every_case_is_of_an_operator_that_computes():
    able = set(implemented())
    unable = sorted({case.operator for case in CASES if case.operator not in able})
    assert not unable, f"there are cases of operators that the software NPU does not implement: {unable}"
