"""Attention on a made-up GPU (fake_driver.c) whose kernels the host runs: they take what the backend hands out."""

import json
import os
import subprocess

from made_up_gpu import HERE, made_up_gpu, ran

CSRC = HERE.parents[1] / "csrc"


def test_results_and_gradients_are_those_of_the_cpu_in_float64(tmp_path):
    environment = made_up_gpu(tmp_path, {})
    options = ["-std=c++20", "-shared", "-fPIC", "-O1", "-w", "-U_FORTIFY_SOURCE", f"-I{CSRC}", f"-I{HERE}"]
    source, library = HERE / "attention_on_host.cpp", tmp_path / "attention.so"
    subprocess.run([os.environ.get("CXX", "c++"), *options, str(source), "-o", str(library)], check=True)
    done = ran(environment, str(HERE / "attention_program.py"), str(tmp_path))
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
