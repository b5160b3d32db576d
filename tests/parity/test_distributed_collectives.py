"""Every collective, dtype and reduction gives what PyTorch's Gloo gives: ours over Gloo, and on NPUs over HCCL."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_v2.distributed as dist

has_gloo = pytest.mark.skipif(not dist.is_gloo_available(), reason="the extra 'distributed' is not installed")
pytestmark = pytest.mark.timeout(300)  # two worlds; some seconds each where nothing else runs
PROGRAM = Path(__file__).with_name("distributed_program.py")


def alike(own, expected) -> bool:
    """Equal, numbers up to how an average is rounded."""
    if isinstance(expected, (list, tuple)):
        return len(own) == len(expected) and all(map(alike, own, expected))
    if isinstance(expected, (float, complex)):
        return abs(own - expected) <= 1e-6 * abs(expected)
    return own == expected


def run(framework: str, folder: Path, size: int, backend: str = "gloo", device: str = "cpu") -> list[dict]:
    """What each process of a world of that size wrote down."""
    folder.mkdir()
    ranks = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), framework, str(folder), str(rank), str(size), backend, device],
            env=os.environ  # the processes are the threads
            | {"MINDTORCH_NPU": "soft", "SOFTNPU_DEVICES": str(size), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        said = [process.communicate(timeout=140)[0] for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    assert [process.returncode for process in ranks] == [0] * size, "\n".join(said)
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in range(size)]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("gloo", "cpu", 2), marks=has_gloo),
        pytest.param(("gloo", "cpu", 3), marks=has_gloo),
        ("hccl", "npu", 2),
        ("hccl", "npu", 4),
    ],
    ids=lambda param: f"{param[0]}-{param[2]}",
)
def worlds(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("worlds")
    backend, device, size = request.param
    ours = run("mindtorch_v2", folder / "ours", size, backend, device)
    return [ours, run("torch", folder / "theirs", size)]


def test_every_collective_gives_what_pytorchs_gloo_gives(worlds):
    ours, theirs = worlds
    different, refused = [], 0
    for rank, (own, expected) in enumerate(zip(ours, theirs, strict=True)):
        assert own.keys() == expected.keys()
        for name, value in expected.items():
            if isinstance(value, str) and value.startswith("refused"):
                refused += 1
            elif not alike(own[name], value):
                different.append(f"rank {rank}: {name}: {str(own[name])[:200]} instead of {str(value)[:200]}")
    assert not different, "\n".join(different)
    assert refused < 0.4 * sum(map(len, theirs))


def test_reductions_that_pytorch_refuses_are_refused_or_right(worlds):
    """Floating-point numbers have no bits to combine, bool has no average."""
    for own in worlds[0]:
        refused = {
            name for name, value in own.items() if isinstance(value, str) and value.startswith("refused")
        }
        without = [
            name
            for name in refused
            if not ("complex64" in name or "bool AVG" in name or name.split()[-1] in ("BAND", "BOR", "BXOR"))
        ]
        assert refused and not without
