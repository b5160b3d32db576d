"""Ranges for NVIDIA's tools, with an NVTX that writes down what it is told. No GPU is needed."""

import json
import os
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._C import _cuda

FAKE = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static int depth;
static void told(const char* what, const char* text) {
  FILE* file = fopen(getenv("TOLD"), "a");
  fprintf(file, "%s %s\n", what, text);
  fclose(file);
}
int nvtxRangePushA(const char* text) { told("push", text); return depth++; }
int nvtxRangePop(void) { told("pop", ""); return --depth; }
uint64_t nvtxRangeStartA(const char* text) { told("start", text); return 77; }
void nvtxRangeEnd(uint64_t range) { told("end", range == 77 ? "77" : "another"); }
void nvtxMarkA(const char* text) { told("mark", text); }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a program beside the made-up library; returns what the library was told, and the program's `found`."""
    folder = tmp_path_factory.mktemp("nvtx")
    library = folder / "packages" / "nvidia" / "cu13" / "lib" / "libnvtx3interop.so.1"
    library.parent.mkdir(parents=True)
    (folder / "fake.c").write_text(FAKE)
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(folder / "fake.c")], check=True)

    def run(program):
        told = folder / "told"
        told.write_text("")
        text = f"import json\nimport mindtorch_v2 as torch\nfound = []\n{program}\nprint(json.dumps(found))"
        paths = os.pathsep.join([str(library.parents[3]), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"PYTHONPATH": paths, "TOLD": str(told)}
        printed = subprocess.check_output([sys.executable, "-c", text], env=environment, text=True)
        return [line.rstrip() for line in told.read_text().splitlines()], json.loads(printed)

    return run


def test_ranges_and_marks_reach_the_library(run):
    told, found = run("""
nvtx = torch.cuda.nvtx
found.append(nvtx.range_push("outer"))
found.append(nvtx.range_push("inner"))
found.append(nvtx.range_pop())
found.append(nvtx.range_pop())
nvtx.range_end(nvtx.range_start("anywhere"))
nvtx.mark("now")
try:
    with nvtx.range("step {} of {total}", 3, total=7):
        raise KeyError
except KeyError:
    pass
@nvtx.range("a function")
def f(): nvtx.mark("inside")
f()
""")
    assert found == [0, 1, 1, 0]
    assert told == [
        "push outer", "push inner", "pop", "pop", "start anywhere", "end 77", "mark now", "push step 3 of 7", "pop",
        "push a function", "mark inside", "pop",
    ]  # fmt: skip


def test_emit_nvtx_makes_a_range_of_every_operator_and_node(run):
    told, _ = run("""
x = torch.ones(2, 3, requires_grad=True)
with torch.autograd.profiler.emit_nvtx(record_shapes=True):
    y = x * x
    y.sum().backward()
x * x
with torch.autograd.profiler.emit_nvtx(enabled=False):
    x * x
with torch.autograd.profiler.emit_nvtx():
    with torch.no_grad():
        x * x
""")
    pushed = [line.removeprefix("push ") for line in told if line.startswith("push")]
    assert len(pushed) == told.count("pop")
    forward = next(line for line in pushed if line.startswith("aten::mul"))
    assert forward.endswith(", sizes = [[2, 3], [2, 3]]")
    number = forward.split("seq = ")[1].split(",")[0]
    assert any(line.startswith(f"MulBackward0, seq = {number}") for line in pushed)
    assert f"autograd::engine::evaluate_function: MulBackward0, seq = {number}" in pushed
    assert pushed[-1] == "aten::mul"  # without gradients there is no node to point to


def test_emit_nvtx_and_the_profiler_do_not_watch_at_once(run):
    told, found = run("""
with torch.profiler.profile():
    try:
        with torch.autograd.profiler.emit_nvtx():
            pass
    except RuntimeError as error:
        found.append(str(error))
""")
    assert "Leave the profile first" in found[0]
    assert told == []


def test_a_library_that_is_missing_is_told_with_the_package_to_install():
    library = next(each for each in _cuda.vendor_libraries() if each.title == "NVTX")
    assert library.package == "nvidia-nvtx"
    if library.available:
        assert torch.cuda.nvtx.range_push("x") <= 0  # nobody listens: a negative number
        return
    assert "pip install nvidia-nvtx" in library.problem
    for use in (lambda: torch.cuda.nvtx.mark("x"), torch.autograd.profiler.emit_nvtx().__enter__):
        with pytest.raises(RuntimeError, match="pip install nvidia-nvtx"):
            use()
