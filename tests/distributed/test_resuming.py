"""Training that is started again goes on from its last checkpoint, and its losses with it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mindtorch_v2.distributed as dist
from mindtorch_v2.distributed.elastic.utils.distributed import get_free_port

pytestmark = pytest.mark.skipif(
    not dist.is_gloo_available(), reason="the extra 'distributed' is not installed"
)
PROGRAM = Path(__file__).with_name("resuming_program.py")


def launch(folder, options, fault="", steps=8):
    folder.mkdir(exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "mindtorch_v2.distributed.run",
        *options,
        str(PROGRAM),
        str(folder),
        str(steps),
    ]
    return subprocess.Popen(
        [*command, fault],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process):
    said = process.communicate(timeout=100)[0]
    assert process.returncode == 0, said


def losses(folder, rank=0):
    """[processes, life, step, loss] in the order in which they were written."""
    return [json.loads(line) for line in (folder / f"losses{rank}.txt").read_text().splitlines()]


def test_after_a_process_was_killed_while_it_trained_and_while_it_saved_the_losses_go_on_exactly(tmp_path):
    options = ["--nproc-per-node", "2", "--max-restarts", "2"]
    disturbed, undisturbed = tmp_path / "disturbed", tmp_path / "undisturbed"
    ended(launch(disturbed, options, "dies"))
    ended(launch(undisturbed, options))
    for rank in (0, 1):
        wanted = {step: loss for _, _, step, loss in losses(undisturbed, rank)}
        found = losses(disturbed, rank)
        assert sorted(wanted) == list(range(8))
        assert all(wanted[step] == loss for _, _, step, loss in found)
        by_life = {life: [step for _, each, step, _ in found if each == life] for life in (0, 1, 2)}
        assert by_life[0][:4] == [0, 1, 2, 3] and by_life[2] == [4, 5, 6, 7], by_life
        assert by_life[1] == [4, 5], by_life
    assert losses(undisturbed, 0) != losses(undisturbed, 1)
    # The save that was torn is complete now, and nothing of it is left.
    assert sorted(os.listdir(disturbed / "6")) == [".metadata", "__0_1.distcp", "__1_1.distcp"]


def test_training_goes_on_with_more_processes_when_a_machine_joins(tmp_path):
    options = ["--nnodes", "1:2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{get_free_port()}"]
    options += ["--rdzv-id", "grows", "--rdzv-conf", "last_call_timeout=0.2", "--nproc-per-node", "1"]
    grown, alone = tmp_path / "grown", tmp_path / "alone"
    first = launch(grown, options, "waits for others")
    saved = grown / "4" / ".metadata"
    ended(launch(alone, ["--nproc-per-node", "1"], "steady"))
    while not saved.exists():
        assert first.poll() is None, first.communicate()[0]
        time.sleep(0.02)
    second = launch(grown, options, "waits for others")
    ended(first)
    ended(second)
    found = losses(grown)
    assert [(size, step) for size, _, step, _ in found] == [(1 if step < 4 else 2, step) for step in range(8)]
    for (*_, loss), (*_, wanted) in zip(found, losses(alone), strict=True):
        assert abs(float.fromhex(loss) - float.fromhex(wanted)) < 1e-5
