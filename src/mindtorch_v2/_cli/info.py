"""``mindtorch info``: versions, devices, libraries found or missing, and what to do next."""

from __future__ import annotations

import argparse
import os
import platform
from importlib import metadata
from typing import Any

import numpy

from .. import get_num_threads
from .._version import __version__
from ..distributed.engines import gloo
from . import _devices


def add(subcommands: Any) -> None:
    parser = subcommands.add_parser("info", help="versions, devices and libraries")
    parser.set_defaults(run=_run)


def _line(name: str, value: object) -> None:
    print(f"{name:<18}{value}")


def _package(name: str, how: str) -> str:
    """Where a package is that brings a library along, or how to get it."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return f"missing. {how}"
    return f"{name} {found.version}, {found.locate_file('')}"


def _run(parsed: argparse.Namespace) -> int:
    _line("mindtorch_v2", __version__)
    _line("Python", f"{platform.python_version()} on {platform.machine()}, {platform.system()}")
    _line("numpy", numpy.__version__)
    _line("CPU", f"{os.cpu_count()} cores, {get_num_threads()} threads used")
    _line("Gloo", _package("xoscar", gloo._HOW))
    _line("MPI", _package("mpi4py", "pip install mpi4py mpich"))
    for device in _devices.modules():
        print(f"\nNext: {device.describe(_line)}")
    return 0
