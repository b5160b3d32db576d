"""These tests run Huawei's torch_npu on the software NPU: `make torch-npu` installs it and starts them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parent / "programs"

Program = Callable[..., dict[str, Any]]


@pytest.fixture
def run_program() -> Program:
    """Runs a program in a process of its own and returns what it printed last, which is JSON."""

    def run(name: str, *arguments: object, **environment: str) -> dict[str, Any]:
        command = [sys.executable, str(PROGRAMS / f"{name}.py"), *map(str, arguments)]
        done = subprocess.run(
            command, env=os.environ | environment, capture_output=True, text=True, timeout=100, check=False
        )
        if done.returncode != 0:
            pytest.fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return result

    return run


@pytest.fixture
def on_cpu(run_program: Program) -> Program:
    """The same with PyTorch alone: its extensions are not loaded."""

    def run(name: str, *arguments: object) -> dict[str, Any]:
        return run_program(name, *arguments, TORCH_DEVICE_BACKEND_AUTOLOAD="0")

    return run
