"""Products of float32 on a made-up GPU (fake_driver.c) whose kernels the host runs: they take what is handed out."""

import json
import os
import subprocess

import pytest
from device_compiler import compile_source, library
from made_up_gpu import HERE, made_up_gpu, ran

CSRC = HERE.parents[1] / "csrc"


@pytest.mark.timeout(400)  # a loaded machine
def test_products_are_those_of_the_cpu_in_float64(tmp_path):
    options = ["-std=c++20", "-shared", "-fPIC", "-O1", "-w", "-U_FORTIFY_SOURCE", f"-I{CSRC}", f"-I{HERE}"]
    source, library = HERE / "float_products_on_host.cpp", tmp_path / "products.so"
    subprocess.run([os.environ.get("CXX", "c++"), *options, str(source), "-o", str(library)], check=True)
    done = ran(made_up_gpu(tmp_path, {}), str(HERE / "float_products_program.py"), str(tmp_path))
    assert done.returncode == 0, done.stderr
    launched = json.loads(done.stdout.splitlines()[-1])
    # Nothing is copied, nothing goes to cuBLASLt, and some products are split.
    assert all(more == [] for kernels in launched for more in kernels[1:]), launched
    assert {len(kernels) for kernels in launched} == {1, 2}
    forms = [kernels[0] for kernels in launched]
    assert {tuple(form[1:3]) for form in forms} == {
        (a, b) for a in ("true", "false") for b in ("true", "false")
    }
    assert {form[3] for form in forms} == {form[4] for form in forms} == {"true", "false"}
    assert {form[0] for form in forms} == {"FloatProductWide", "FloatProductNarrow"}


@pytest.mark.skipif(library() is None, reason="NVRTC is not installed: pip install nvidia-cuda-nvrtc")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("tile", ["FloatProductWide", "FloatProductNarrow"])
def test_kernels_compile_for_the_chip_that_has_their_instructions(tile):
    source = (
        '#include "backends/cuda/device/float_products.h"\nusing namespace mt;\nusing namespace mt::cuda;\n'
    )
    forms = ["true, true, true, true", "true, false, true, false", "false, false, false, true"]
    bodies = [f"FloatProduct<{tile}, {form}>::run" for form in forms] + ["float_product_added"]
    for number, body in enumerate(bodies):
        threads = 256 if body.endswith("added") else 384
        source += f'extern "C" __global__ void __launch_bounds__({threads}, 1) kernel_{number}'
        source += f"(const __grid_constant__ FloatProductCall call) {{ {body}(call); }}\n"
    assert compile_source(source, "sm_90a")
