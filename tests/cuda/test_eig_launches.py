"""linalg.eig on a made-up GPU (fake_driver.c): what cuSOLVER is given, and what is made of its real columns."""

import json
import re

import pytest
from made_up_gpu import HERE, made_up_gpu, ran

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


def made_up_solver(folder, text, without=()):
    """cuSOLVER whose functions do nothing, but for those of `text`."""
    names = set(re.findall(r'"(cusolverDn\w+)"', HEADER.read_text())) - set(without)
    names -= set(re.findall(r"int (cusolverDn\w+)\(", text))
    source = folder / "solver.c"
    source.write_text(text + "".join(f"int {name}(void) {{ return 0; }}\n" for name in sorted(names)))
    return {"libcusolver.so.12": source}


@pytest.mark.timeout(400)  # a loaded machine
def test_values_and_vectors_of_real_and_complex_matrices_fulfil_their_equation(tmp_path):
    done = ran(made_up_gpu(tmp_path, made_up_solver(tmp_path, SOLVER)), str(HERE / "eig_program.py"))
    assert done.returncode == 0, done.stderr
    launched = json.loads(done.stdout.splitlines()[-1])
    assert launched.count("eigenvectors_unpacked<float>") == 1


def test_a_library_that_is_too_old_is_told(tmp_path):
    functions = ("cusolverDnXgeev", "cusolverDnXgeev_bufferSize")
    environment = made_up_gpu(tmp_path, made_up_solver(tmp_path, "", without=functions))
    done = ran(environment, "-c", "import mindtorch_v2 as t; t.linalg.eigvals(t.ones(2, 2).cuda())")
    said = done.stderr.splitlines()[-1]
    assert re.search(r"cuSOLVER in \S+ lacks cusolverDnXgeev_bufferSize: it is too old.", said), done.stderr
    assert said.endswith("pip install --upgrade nvidia-cusolver.")
