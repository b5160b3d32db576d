"""Distributed tensors, tensor parallel and fully sharded models, in worlds of 2, 3 and 4 processes."""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_v2.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_gloo_available(), reason="the extra 'distributed' is not installed"
)
# Programs with their worlds: a number of processes, and a device.
WORLDS = {
    "sharding_checks.py": [(2, "cpu"), (3, "cpu"), (4, "cpu")],
    "wrapper_checks.py": [(2, "cpu")],
    "training_checks.py": [(2, "cpu"), (2, "npu")],
    "grid_checks.py": [(4, "cpu"), (4, "npu")],
}
BACKENDS = {"cpu": "gloo", "npu": "hccl"}
PROGRAMS = {name: Path(__file__).with_name(name) for name in WORLDS}
CHECKS = {name: re.findall(r"^def (check_\w+)", file.read_text(), re.M) for name, file in PROGRAMS.items()}


@functools.cache
def world(name, size, device, folder):
    """What came of all checks of a program in one world."""
    into = folder / f"{name}.{size}.{device}.json"
    command = [
        sys.executable,
        "-m",
        "mindtorch_v2.distributed.run",
        "--nproc-per-node",
        str(size),
        "--tee",
        "3",
    ]
    surroundings = os.environ | {
        "OMP_NUM_THREADS": "1",
        "SHARDING_DEVICE": device,
        "SHARDING_BACKEND": BACKENDS[device],
    }
    if device == "npu":
        surroundings |= {"MINDTORCH_NPU": "soft", "SOFTNPU_DEVICES": str(size), "SOFTNPU_MEMORY": "256MiB"}
    run = subprocess.run(
        [*command, str(PROGRAMS[name]), str(into)],
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(into.read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sharding")


@pytest.mark.parametrize(
    ("name", "size", "device", "check"),
    [(name, *place, check) for name, places in WORLDS.items() for place in places for check in CHECKS[name]],
    ids=lambda value: f"{value}_processes" if isinstance(value, int) else value.removesuffix(".py"),
)
def test_in_a_world(folder, name, size, device, check):
    found = world(name, size, device, folder)
    assert found[check] == "", found[check]
