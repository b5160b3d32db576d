"""What importing the package does to the process, each in one of its own."""

import os
import subprocess
import sys


def output_of(program: str, **environment: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=True,
    )
    return finished.stdout.strip()


def test_importing_starts_no_thread() -> None:
    assert output_of("import mindtorch_v2, os; print(len(os.listdir('/proc/self/task')))") == "1"


def test_importing_leaves_the_environment_as_it_was() -> None:
    program = "import os; before = dict(os.environ); import mindtorch_v2; print(before == dict(os.environ))"
    assert output_of(program) == "True"
    assert output_of(program, OPENBLAS_NUM_THREADS="3") == "True"
