"""The examples are PyTorch programs: unchanged, they give PyTorch's losses here, on the CPU and on the software NPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch_v2.distributed import is_gloo_available

EXAMPLES = Path(__file__).parents[2] / "examples"
AS_TORCH = {
    "torch": [],
    "cpu": ["-m", "mindtorch_v2", "run", "--npu", "off"],
    "npu": ["-m", "mindtorch_v2", "run", "--npu", "soft"],
}


def run(example, where, losses, *arguments):
    """The losses of an example, which it writes into a file: of PyTorch's on the CPU ("torch"), or of ours on "cpu" or
    "npu"."""
    device = "npu" if where == "npu" else "cpu"
    command = [sys.executable, *AS_TORCH[where], str(EXAMPLES / f"{example}.py"), "--device", device]
    done = subprocess.run(
        [*command, "--losses", str(losses), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(losses.read_text())


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "example, arguments",
    [
        ("mnist_mlp", ("--steps", "60")),
        ("mnist_mlp", ("--steps", "60", "--optimizer", "sgd")),
        ("char_gpt", ("--steps", "40", "--batch", "4")),
        ("resnet", ("--steps", "40")),
        ("lstm", ("--steps", "30")),
        ("custom_op", ("--steps", "40")),
    ],
)
def test_an_example_gives_pytorchs_losses(example, arguments, tmp_path):
    expected = run(example, "torch", tmp_path / "losses", *arguments)
    for where in ("cpu", "npu"):
        losses = run(example, where, tmp_path / "losses", *arguments)
        assert len(losses) == len(expected) == int(arguments[1]), where
        assert losses[0] == pytest.approx(expected[0], rel=1e-5), where
        assert losses[-1] == pytest.approx(expected[-1], rel=1e-3, abs=1e-6), where
        assert losses[-1] < losses[0], where


@pytest.mark.timeout(400)
@pytest.mark.skipif(not is_gloo_available(), reason="the extra 'distributed' is not installed")
@pytest.mark.parametrize("example", ["ddp_gpt", "fsdp_gpt", "tensor_parallel_gpt", "pipeline_gpt"])
def test_an_example_of_two_processes_gives_pytorchs_losses(example, tmp_path):
    found = {}
    for where, command in {
        "torch": ["-m", "torch.distributed.run"],
        "cpu": ["-m", "mindtorch_v2", "launch", "--npu", "off"],
    }.items():
        losses = tmp_path / f"{where}.json"
        options = [
            "--device",
            "cpu",
            "--losses",
            str(losses),
            "--steps",
            "4",
            "--batch",
            "8",
            "--context",
            "16",
        ]
        done = subprocess.run(
            [sys.executable, *command, "--nproc-per-node", "2", str(EXAMPLES / f"{example}.py"), *options],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        found[where] = json.loads(losses.read_text())
    assert found["cpu"] == pytest.approx(found["torch"], rel=1e-4)


def test_the_leak_is_found_and_named(tmp_path):
    done = subprocess.run(
        [sys.executable, *AS_TORCH["npu"], str(EXAMPLES / "memory_debugging.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    allocated = [float(line.split(":")[1].split()[0]) for line in lines if line.startswith("  step")]
    assert allocated[0] == allocated[5] and allocated[11] > allocated[6] + 20
    assert any("(run)" in line for line in lines)
    assert (tmp_path / "leak_snapshot.pickle").exists()
