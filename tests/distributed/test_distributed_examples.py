"""The examples of several processes: four ways to train one model give the same losses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_v2.distributed as dist

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = "--steps 12 --batch 32 --context 8 --width 16 --heads 2 --layers 2".split()
has_gloo = pytest.mark.skipif(not dist.is_gloo_available(), reason="the extra 'distributed' is not installed")


def run(example: str, device: str, losses: Path) -> tuple[list[float], str]:
    npu = ["--npu", "soft" if device == "npu" else "off"]
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "launch", *npu, "--nproc-per-node", "2"]
        + [str(EXAMPLES / example), "--device", device, "--losses", str(losses), *SMALL],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "SOFTNPU_DEVICES": "2", "SOFTNPU_MEMORY": "256MiB"},
    )
    assert done.returncode == 0, done.stdout[-5000:]
    return json.loads(losses.read_text()), done.stdout


@pytest.mark.timeout(300)
@pytest.mark.parametrize("device", [pytest.param("cpu", marks=has_gloo), "npu"])
def test_the_examples_of_two_processes_have_the_same_losses(tmp_path, device):
    expected, _ = run("ddp_gpt.py", device, tmp_path / "ddp.json")
    assert sum(expected[-4:]) < sum(expected[:4])
    for example in ("fsdp_gpt.py", "tensor_parallel_gpt.py", "pipeline_gpt.py"):
        losses, said = run(example, device, tmp_path / f"{example}.json")
        assert losses == pytest.approx(expected, rel=1e-4), example
        assert said.count("tokens/s") >= 2 and "[rank 1]" not in said, said
