"""Programs that run with the `_C` that has the device in it, each in a process of its own."""

import importlib.machinery
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "build" / os.environ.get("MINDTORCH_BUILD", "dev") / "private_device"

PREPARE = """
import importlib.util, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "mindtorch_v2._C":
            return importlib.util.spec_from_file_location(name, {library!r})
sys.meta_path.insert(0, Finder())
sys.path.insert(0, {here!r})
import mindtorch_v2 as torch
import private_device
"""
REGISTER = 'torch._register_device_module("privateuseone", private_device)\n'


@pytest.fixture
def run():
    """Runs a program in which the device is ``torch.privateuseone``; returns what it prints."""
    names = [FOLDER / f"_C{end}" for end in importlib.machinery.EXTENSION_SUFFIXES]
    library = next((name for name in names if name.exists()), None)
    assert library, f"no _C in {FOLDER}: 'make test' builds it"

    def run(program: str, register: bool = True) -> str:
        prepared = PREPARE.format(library=str(library), here=str(HERE)) + (REGISTER if register else "")
        text = prepared + textwrap.dedent(program)
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
