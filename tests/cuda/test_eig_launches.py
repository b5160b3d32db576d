"""linalg.eig on a made-up GPU (fake_driver.c): what cuSOLVER is given, and what is made of its real columns."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HEADER = HERE.parents[1] / "csrc/backends/cuda/cusolver.h"
SOLVER = """
#include <stddef.h>
#include <stdint.h>
typedef void (*hook)(int, int64_t, int, void*, int, void*, int, void*);
static hook geev;
void fake_geev(hook h) { geev = h; }
int cusolverDnXgeev_bufferSize(void* h, void* p, int l, int r, int64_t n, int t, void* a, int64_t la, int wt, void* w,
                               int lt, void* vl, int64_t ll, int rt, void* vr, int64_t lr, int c, size_t* d,
                               size_t* s) {
  *d = 64, *s = 32;
  return l || vl || la != n || ll < 1 || lr < n || c != t;
}
int cusolverDnXgeev(void* h, void* p, int l, int r, int64_t n, int t, void* a, int64_t la, int wt, void* w, int lt,
                    void* vl, int64_t ll, int rt, void* vr, int64_t lr, int c, void* d, size_t db, void* s, size_t sb,
                    int* info) {
  if (!d || db != 64 || !s || sb != 32) return 3;
  geev(r, n, t, a, wt, w, rt, vr);
  *info = 0;
  return 0;
}
"""


def made_up_gpu(folder, solver, without=()):
    """A driver, a compiler and a cuSOLVER whose functions do nothing, but for those of `solver`."""
    packages = folder / "packages/nvidia/cu13/lib"
    packages.mkdir(parents=True)
    names = set(re.findall(r'"(cusolverDn\w+)"', HEADER.read_text())) - set(without)
    names -= set(re.findall(r"int (cusolverDn\w+)\(", solver))
    text = solver + "".join(f"int {name}(void) {{ return 0; }}\n" for name in sorted(names))
    (folder / "solver.c").write_text(text)
    for source, library in (
        (HERE / "fake_driver.c", folder / "libcuda.so.1"),
        (HERE / "fake_compiler.c", packages / "libnvrtc.so.13"),
        (folder / "solver.c", packages / "libcusolver.so.12"),
    ):
        compiler = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-w"]
        subprocess.run([*compiler, str(source), "-o", str(library)], check=True)
    return os.environ | {
        "LD_LIBRARY_PATH": os.pathsep.join([str(folder), str(packages)]), "MINDTORCH_CUDA": "on",
        "MINDTORCH_NPU": "off", "CUDA_HOME": str(folder), "MINDTORCH_CACHE": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join([str(HERE), str(folder / "packages"), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip


def ran(environment, *command):
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)


@pytest.mark.timeout(400)  # a loaded machine
def test_values_and_vectors_of_real_and_complex_matrices_fulfil_their_equation(tmp_path):
    done = ran(made_up_gpu(tmp_path, SOLVER), str(HERE / "eig_program.py"))
    assert done.returncode == 0, done.stderr
    launched = json.loads(done.stdout.splitlines()[-1])
    assert launched.count("eigenvectors_unpacked<float>") == 1


def test_a_library_that_is_too_old_is_told(tmp_path):
    functions = ("cusolverDnXgeev", "cusolverDnXgeev_bufferSize")
    environment = made_up_gpu(tmp_path, "", without=functions)
    done = ran(environment, "-c", "import mindtorch_v2 as t; t.linalg.eigvals(t.ones(2, 2).cuda())")
    said = done.stderr.splitlines()[-1]
    assert re.search(r"cuSOLVER in \S+ lacks cusolverDnXgeev_bufferSize: it is too old.", said), done.stderr
    assert said.endswith("pip install --upgrade nvidia-cusolver.")
