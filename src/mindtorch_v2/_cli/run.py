"""``mindtorch run``: a PyTorch program, unchanged, on this package."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from .. import _as_torch

_NPU = {"soft": "soft", "real": "hardware", "off": "off"}  # what MINDTORCH_NPU calls them


def add(subcommands: Any) -> None:
    parser = subcommands.add_parser(
        "run",
        help="run a PyTorch program",
        description="Runs a Python program in which 'import torch' and 'import torch_npu' mean MindTorch v2, there "
        "and in the Python processes it starts, whether PyTorch is installed or not.",
        usage="mindtorch run [--npu soft|real|off] (script.py | -m module | -c command) [argument ...]",
    )
    parser.add_argument(
        "--npu",
        choices=sorted(_NPU),
        help="the software NPU, a card, or none (default: what MINDTORCH_NPU says, else a card if there is one)",
    )
    remainder = argparse.REMAINDER
    parser.add_argument("-m", dest="module", nargs=remainder, metavar="module", help="run a module")
    parser.add_argument("-c", dest="command", nargs=remainder, metavar="command", help="run a line of Python")
    parser.add_argument("script", nargs=remainder, help="a file, and its arguments")
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    if parsed.module is not None:
        what, program = "module after -m", ["-m", *parsed.module]
    elif parsed.command is not None:
        what, program = "command after -c", ["-c", *parsed.command]
    else:
        what, program = "program", ["", *parsed.script]
    if len(program) == 1:
        raise ValueError(
            f"no {what} was given: mindtorch run [--npu soft|real|off] (script.py | -m module | -c command) "
            "[argument ...]"
        )
    if not program[0]:
        program = program[1:]
        if not os.path.exists(program[0]):
            raise ValueError(f"there is no file {program[0]!r} to run")
    surroundings = dict(os.environ) | _as_torch.environment(os.environ)
    if parsed.npu is not None:
        surroundings["MINDTORCH_NPU"] = _NPU[parsed.npu]
    os.execve(sys.executable, [sys.executable, *program], surroundings)
