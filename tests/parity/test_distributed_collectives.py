"""Every collective, dtype, reduction and shape of a group gives what PyTorch's Gloo gives: ours over Gloo and MPI, and
on NPUs over HCCL."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from made_once import made_once

import mindtorch_v2.distributed as dist
from mindtorch_v2.distributed.engines.mpi import packaged

has_gloo = pytest.mark.skipif(not dist.is_gloo_available(), reason="the extra 'distributed' is not installed")
has_mpi = pytest.mark.skipif(
    not dist.is_mpi_available() or packaged("mpiexec") is None,
    reason="the extra 'distributed' is not installed",
)
pytestmark = pytest.mark.timeout(600)  # worlds of many processes; some seconds each where nothing else runs
PROGRAM = Path(__file__).with_name("distributed_program.py")
Found = dict[tuple[int, int], dict[str, object]]  # by number of processes and rank


def alike(own, expected) -> bool:
    """Equal, numbers up to how an average is rounded."""
    if own == expected:
        return True
    if isinstance(expected, (list, tuple)):
        return len(own) == len(expected) and all(map(alike, own, expected))
    if isinstance(expected, (float, complex)):
        return abs(own - expected) <= 1e-6 * abs(expected)
    return False


def run(framework: str, folder: Path, backend: str, device: str, *sizes: int) -> Found:
    """What each process of worlds of these sizes wrote down."""
    for size in sizes:
        (folder / str(size)).mkdir(parents=True)
    starter = [str(packaged("mpiexec")), "-n", str(*sizes)] if backend == "mpi" else []
    arguments = [framework, str(folder), backend, device, *map(str, sizes)]
    done = subprocess.run(
        [*starter, sys.executable, str(PROGRAM), *arguments],
        env=os.environ  # the processes are the threads
        | {"MINDTORCH_NPU": "soft", "SOFTNPU_DEVICES": str(max(sizes)), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout
    return {
        (size, rank): pickle.loads((folder / str(size) / f"{rank}.pickle").read_bytes())
        for size in sizes
        for rank in range(size)
    }


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> Found:
    """PyTorch's values, for all."""
    return made_once(
        tmp_path_factory,
        "collectives_of_pytorch",
        lambda: run("torch", tmp_path_factory.mktemp("theirs"), "gloo", "cpu", 2, 3, 4, 8),
    )


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("gloo", "cpu", 2, 3, 4), marks=has_gloo),
        pytest.param(("mpi", "cpu", 2), marks=has_mpi),
        pytest.param(("mpi", "cpu", 3), marks=has_mpi),
        pytest.param(("mpi", "cpu", 4), marks=has_mpi),
        ("hccl", "npu", 2, 4, 8),
    ],
    ids=lambda param: "-".join(map(str, param)),
)
def ours(request, tmp_path_factory) -> Found:
    return made_once(
        tmp_path_factory,
        "collectives_of_" + "_".join(map(str, request.param)),
        lambda: run("mindtorch_v2", tmp_path_factory.mktemp("ours"), *request.param),
    )


def test_every_collective_gives_what_pytorchs_gloo_gives(ours, expected):
    different, refused, count = [], 0, 0
    for (size, rank), own in ours.items():
        theirs = expected[size, rank]
        assert own.keys() == theirs.keys()
        count += len(theirs)
        for name, value in theirs.items():
            if isinstance(value, str) and value.startswith("refused"):
                refused += 1
            elif not alike(own[name], value):
                said = f"{str(own[name])[:200]} instead of {str(value)[:200]}"
                different.append(f"rank {rank} of {size}: {name}: {said}")
    assert not different, f"{len(different)} of {count} differ:\n" + "\n".join(different[:40])
    assert refused < 0.5 * count


def test_reductions_that_pytorch_refuses_are_refused_or_right(ours):
    """Floating-point numbers have no bits to combine, bool has no average."""
    for own in ours.values():
        refused = {
            name for name, value in own.items() if isinstance(value, str) and value.startswith("refused")
        }
        without = [
            name
            for name in refused
            if not ("complex" in name or "bool AVG" in name or name.split()[-1] in ("BAND", "BOR", "BXOR"))
        ]
        assert refused and not without, without
