"""``mindtorch launch``: a PyTorch program as many processes, on this package."""

from __future__ import annotations

import argparse
import os
from typing import Any

from .. import _as_torch
from ..distributed import run
from . import _devices


def add(subcommands: Any) -> None:
    parser = subcommands.add_parser(
        "launch",
        help="run a PyTorch program as many processes",
        description="torchrun, with its options: runs a program on this package as many processes that work together. "
        "Each line that a process writes is shown with the name of the process and kept in a file.",
    )
    for device in _devices.modules():
        device.add_run_options(parser)
    run.add_options(parser)
    parser.set_defaults(tee=os.environ.get("PET_TEE", "3"))
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    os.environ.update(_as_torch.environment(os.environ))
    for device in _devices.modules():
        os.environ.update(device.run_environment(parsed))
    os.environ.setdefault("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "[rank ${rank}] ")
    return run.command(parsed)
