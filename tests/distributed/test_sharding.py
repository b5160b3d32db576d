"""Distributed tensors, tensor parallel and fully sharded models, in worlds of 2, 3 and 4 processes."""

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
PROGRAM = Path(__file__).with_name("sharding_checks.py")
CHECKS = re.findall(r"^def (check_\w+)", PROGRAM.read_text(), re.M)


@pytest.fixture(scope="module", params=[2, 3, 4], ids=lambda size: f"{size}_processes")
def world(request, tmp_path_factory):
    """What came of all checks in one world."""
    size = request.param
    into = tmp_path_factory.mktemp("sharding") / "found.json"
    command = [
        sys.executable,
        "-m",
        "mindtorch_v2.distributed.run",
        "--nproc-per-node",
        str(size),
        "--tee",
        "3",
    ]
    surroundings = os.environ | {"OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [*command, str(PROGRAM), str(into)], env=surroundings, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(into.read_text())


@pytest.mark.parametrize("check", CHECKS)
def test_in_a_world(world, check):
    assert world[check] == "", world[check]
