"""Batches of small matrices on a made-up GPU: one call of cuBLAS or cuSOLVER for all, with addresses on the device."""

import json
import re

import pytest
from made_up_gpu import HERE, made_up_gpu, ran

HEADER = (HERE.parents[1] / "csrc/backends/cuda/cusolver.h").read_text()
# What follows the handle; n: a number, p: an address.
BATCHED = {"cublas%sgetrfBatched": "npnppn", "cublas%sgetrsBatched": "nnnpnppnpn",
           "cublas%strsmBatched": "nnnnnnppnpnn", "cusolverDn%spotrfBatched": "nnpnpn"}  # fmt: skip
HOOK = """
#include <stdint.h>
typedef void (*hook)(const char*, char, const int64_t*, int);
static hook does;
void fake_functions(hook h) { does = h; }
"""


def made_up_library(path, prefix):
    """All functions of the prefix that the backend looks up: those of batches call a hook, others do nothing."""
    names = set(re.findall(rf'"({prefix}\w+)"', HEADER))
    text = HOOK
    for pattern, kinds in BATCHED.items():
        for letter in "SDCZ":
            name = pattern % letter
            if name not in names:
                continue
            names.remove(name)
            parameters = ", ".join(f"{'int' if k == 'n' else 'void*'} a{i}" for i, k in enumerate(kinds))
            values = ", ".join(f"(int64_t)a{i}" for i in range(len(kinds)))
            short = re.search(r"%s(\w+)Batched", pattern).group(1)
            text += f"int {name}(void* handle, {parameters}) {{ const int64_t all[] = {{{values}}}; "
            text += f"does(\"{short}\", '{letter}', all, {len(kinds)}); return 0; }}\n"
    path.write_text(text + "".join(f"int {name}(void) {{ return 0; }}\n" for name in sorted(names)))
    return path


@pytest.mark.timeout(400)  # a loaded machine
def test_factors_and_solutions_are_those_of_the_host_and_take_one_call(tmp_path):
    libraries = {
        "libcublas.so.13": made_up_library(tmp_path / "blas.c", "cublas"),
        "libcusolver.so.12": made_up_library(tmp_path / "solver.c", "cusolverDn"),
    }
    done = ran(made_up_gpu(tmp_path, libraries), str(HERE / "batched_program.py"))
    assert done.returncode == 0, done.stderr
    called = json.loads(done.stdout.splitlines()[-1])
    each = ["getrf", "getrs"] * 3 + ["getrf"] + ["getrf", "getrs"] + ["potrf"] * 2 + ["trsm"] * 2
    assert called == each * 2
