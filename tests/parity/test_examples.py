"""The examples are PyTorch programs: unchanged, they give PyTorch's losses here, on the CPU and on the software NPU."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
AS_TORCH = {
    "torch": [],
    "cpu": ["-m", "mindtorch_v2", "run", "--npu", "off"],
    "npu": ["-m", "mindtorch_v2", "run", "--npu", "soft"],
}


@cache
def run(example, where, *arguments):
    """The losses of an example: of PyTorch's on the CPU ("torch"), or of ours on "cpu" or "npu"."""
    losses = EXAMPLES.parent / "build" / f"losses-{example}-{where}.json"
    device = "npu" if where == "npu" else "cpu"
    command = [sys.executable, *AS_TORCH[where], str(EXAMPLES / f"{example}.py"), "--device", device]
    done = subprocess.run(
        [*command, "--losses", str(losses), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(losses.read_text()), done.stdout


@pytest.mark.timeout(400)
@pytest.mark.parametrize("where", ["cpu", "npu"])
@pytest.mark.parametrize(
    "example, arguments",
    [
        ("mnist_mlp", ("--steps", "100")),
        ("mnist_mlp", ("--steps", "100", "--optimizer", "sgd")),
        ("char_gpt", ("--steps", "100", "--batch", "4")),
        ("resnet", ("--steps", "100")),
        ("lstm", ("--steps", "30")),
        ("custom_op", ("--steps", "100")),
    ],
)
def test_an_example_gives_pytorchs_losses(example, arguments, where):
    losses, _ = run(example, where, *arguments)
    expected, _ = run(example, "torch", *arguments)
    assert len(losses) == len(expected) == int(arguments[1])
    assert losses[0] == pytest.approx(expected[0], rel=1e-5)
    assert losses[-1] == pytest.approx(expected[-1], rel=1e-3, abs=1e-6)
    assert losses[-1] < losses[0]


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
