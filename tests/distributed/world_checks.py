"""Programs of checks that run on every process of a world.

A program has functions ``check_…`` and ends with ``world_checks.main(globals(), backend)``; a test runs it.
"""

import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist


def run(program: Path, size: int, **environment: str) -> str:
    """What a world of that size says that runs the checks of a program; it must end well."""
    command = [
        sys.executable,
        "-m",
        "mindtorch_v2.distributed.run",
        "--nproc-per-node",
        str(size),
        "--tee",
        "3",
    ]
    ended = subprocess.run(
        [*command, str(program)],
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def main(names: dict, backend: str) -> None:
    """Runs the checks among the names, on all processes; the first that fails ends them."""
    if backend == "hccl":
        torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(backend, timeout=timedelta(seconds=60))
    for name, check in list(names.items()):
        if name.startswith("check_"):
            torch.manual_seed(0)
            began = time.monotonic()
            check()
            dist.barrier()
            if dist.get_rank() == 0:
                print(f"passed {name} in {time.monotonic() - began:.1f} s", flush=True)
    dist.destroy_process_group()
