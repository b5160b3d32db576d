"""Starts a program once for each rank of a world, for tests that compare two libraries."""

import os
import subprocess
import sys


def run_ranks(size, arguments, **environment):
    """Runs Python with `arguments(rank)` for all ranks at once; fails with what they said if one does."""
    ranks = [
        subprocess.Popen(
            [sys.executable, *map(str, arguments(rank))],
            env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
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
