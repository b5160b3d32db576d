"""``mindtorch run``: a PyTorch program, unchanged, on this package."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import Any

from .. import _as_torch
from .._devices import registry
from . import _devices


def add(subcommands: Any) -> None:
    packages = ["torch", *(name for found in registry.accelerators.values() for name in found.packages)]
    imports = " and ".join(f"'import {name}'" for name in packages)
    parser = subcommands.add_parser(
        "run",
        help="run a PyTorch program",
        description=f"Runs a Python program in which {imports} mean MindTorch v2, there "
        "and in the Python processes it starts, whether PyTorch is installed or not.",
        usage=_usage(),
    )
    for device in _devices.modules():
        device.add_run_options(parser)
    remainder = argparse.REMAINDER
    parser.add_argument("-m", dest="module", nargs=remainder, metavar="module", help="run a module")
    parser.add_argument("-c", dest="command", nargs=remainder, metavar="command", help="run a line of Python")
    parser.add_argument(
        "script", nargs=remainder, help="a file or an installed command such as torchrun, and its arguments"
    )
    parser.set_defaults(run=_run)


def _usage() -> str:
    options = "".join(f"{device.RUN_USAGE} " for device in _devices.modules())
    return f"mindtorch run {options}(script.py | -m module | -c command) [argument ...]"


def _run(parsed: argparse.Namespace) -> int:
    if parsed.module is not None:
        what, program = "module after -m", ["-m", *parsed.module]
    elif parsed.command is not None:
        what, program = "command after -c", ["-c", *parsed.command]
    else:
        what, program = "program", ["", *parsed.script]
    if len(program) == 1:
        raise ValueError(f"no {what} was given: {_usage()}")
    if not program[0]:
        program = [_found(program[1]), *program[2:]]
    surroundings = dict(os.environ) | _as_torch.environment(os.environ)
    for device in _devices.modules():
        surroundings |= device.run_environment(parsed)
    os.execve(sys.executable, [sys.executable, *program], surroundings)


def _found(script: str) -> str:
    """A file, or a command written in Python that is installed: ``torchrun``, ``accelerate``."""
    if os.path.exists(script):
        return script
    path = _as_torch.environment(os.environ)["PATH"]
    beside = os.path.dirname(sys.executable)  # of an environment that is not activated
    command = shutil.which(script, path=os.pathsep.join([path, beside]))
    if command is None:
        raise ValueError(f"there is no file {script!r} to run, and no command of that name")
    with open(command, "rb") as file:
        if b"python" not in file.readline():
            raise ValueError(f"the command {script!r} ({command}) is not a Python program; give one")
    return command
