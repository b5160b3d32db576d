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

Result = dict[str, Any]


class Program:
    """A program in a process of its own. What it prints last is JSON."""

    def __init__(self, name: str, *arguments: object, **environment: str) -> None:
        self.command = [sys.executable, str(PROGRAMS / f"{name}.py"), *map(str, arguments)]
        self.process = subprocess.Popen(
            self.command,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def result(self) -> Result:
        output, errors = self.process.communicate(timeout=100)
        if self.process.returncode != 0:
            pytest.fail(f"{' '.join(self.command)} ended with {self.process.returncode}:\n{output}\n{errors}")
        result: Result = json.loads(output.strip().splitlines()[-1])
        return result


@pytest.fixture
def run_program() -> Callable[..., Result]:
    def run(name: str, *arguments: object, **environment: str) -> Result:
        program = Program(name, *arguments, **environment)
        try:
            return program.result()
        finally:
            program.process.kill()

    return run


@pytest.fixture(scope="session")
def run_on_both() -> Callable[..., tuple[Result, Result]]:
    """Runs a program on the NPU and, beside it, on the CPU by PyTorch alone."""

    def run(name: str, *arguments: object, devices: tuple[str, str] = ("npu", "cpu"), **environment: str):
        npu = Program(name, devices[0], *arguments, **environment)
        cpu = Program(name, devices[1], *arguments, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        try:
            return npu.result(), cpu.result()
        finally:
            for program in (npu, cpu):
                program.process.kill()

    return run
