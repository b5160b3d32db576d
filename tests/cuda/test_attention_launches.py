"""Attention on a made-up GPU (fake_driver.c) whose kernels the host runs: they take what the backend hands out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CSRC = HERE.parents[1] / "csrc"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("gpu")
    packages = made / "packages/nvidia/cu13/lib"
    packages.mkdir(parents=True)
    shared = ["-shared", "-fPIC", "-O1", "-w"]
    compiler = os.environ.get("CC", "cc")
    for source, library in (
        ("fake_driver.c", made / "libcuda.so.1"),
        ("fake_compiler.c", packages / "libnvrtc.so.13"),
    ):
        subprocess.run([compiler, *shared, str(HERE / source), "-o", str(library)], check=True)
    options = ["-std=c++20", "-U_FORTIFY_SOURCE", f"-I{CSRC}", f"-I{HERE}"]
    source, library = HERE / "attention_on_host.cpp", made / "attention.so"
    subprocess.run(
        [os.environ.get("CXX", "c++"), *shared, *options, str(source), "-o", str(library)], check=True
    )
    return made


def test_results_and_gradients_are_those_of_the_cpu_in_float64(folder):
    environment = os.environ | {
        "LD_LIBRARY_PATH": str(folder), "MINDTORCH_CUDA": "on", "MINDTORCH_NPU": "off", "CUDA_HOME": str(folder),
        "PYTHONPATH": os.pathsep.join([str(folder / "packages"), os.environ.get("PYTHONPATH", "")]),
        "MINDTORCH_CACHE": str(folder / "cache"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(HERE / "attention_program.py"), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    launched = json.loads(done.stdout.splitlines()[-1])
    assert launched[:4] == [
        "attention_forward<float, 64, false>",
        "attention_prepared<float>",
        "attention_backward<float, 64, false, true>",
        "attention_backward<float, 64, false, false>",
    ]
    assert len(launched) == 6 * 4  # nothing is copied
    assert {"attention_forward<Half, 64, true>", "attention_forward<float, 32, true>"} < set(launched)
