"""``mindtorch info``: versions, devices, libraries found or missing, and what to do next."""

from __future__ import annotations

import argparse
import os
import platform
from typing import Any

import numpy

from .. import _C, get_num_threads
from .._backends.npu import acl_loader
from .._version import __version__

_CANN_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")


def add(subcommands: Any) -> None:
    parser = subcommands.add_parser("info", help="versions, devices and libraries")
    parser.set_defaults(run=_run)


def _line(name: str, value: object) -> None:
    print(f"{name:<18}{value}")


def _run(parsed: argparse.Namespace) -> int:
    _line("mindtorch_v2", __version__)
    _line("Python", f"{platform.python_version()} on {platform.machine()}, {platform.system()}")
    _line("numpy", numpy.__version__)
    _line("CPU", f"{os.cpu_count()} cores, {get_num_threads()} threads used")
    folder = acl_loader.software_folder()
    libraries = sorted(path.name for path in folder.glob("lib*.so"))
    _line("software NPU", ", ".join(libraries) if libraries else f"missing: nothing in {folder}")
    for variable in _CANN_VARIABLES:
        if variable in os.environ:
            _line("CANN", f"{variable}={os.environ[variable]}")
    if not any(variable in os.environ for variable in _CANN_VARIABLES):
        _line("CANN", f"{' and '.join(_CANN_VARIABLES)} are not set")
    kind, problem = acl_loader.look()
    if kind is None:
        _line("NPU", f"none: {problem}")
        print(
            "\nNext: for a card, install CANN and source its set_env.sh. Without one, use the software NPU:\n"
            "  MINDTORCH_NPU=soft python program.py\n"
            "  mindtorch run --npu soft program.py       (a PyTorch program, unchanged)\n"
            "  mindtorch softnpu run -- python program.py"
        )
        return 0
    _line("NPU", f"{kind}, from {_C._npu.loaded_from()}")
    for index in range(_C._npu.probe()[0]):
        _line(f"  npu:{index}", _C._npu.soc_name())
    print('\nNext: torch.ones(2, device="npu")')
    return 0
