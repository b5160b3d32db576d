"""Tests on a real GPU: `make cuda` runs them. Elsewhere they are not collected."""

import gc
import os
import subprocess
import sys

import pytest

import mindtorch_v2 as torch


@pytest.fixture(autouse=True)
def nothing_cached():
    """Each test begins with an empty cache."""
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


@pytest.fixture
def in_process():
    """Runs a program in a process of its own, with settings; fails with what it wrote to stderr."""

    def run(program, **environment):
        done = subprocess.run(
            [sys.executable, "-c", "import mindtorch_v2 as torch\n" + program],
            env=os.environ | environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run
