"""The parts of the command line that devices bring along.

Note [Commands of devices]
``Accelerator.command_line``, or ``COMMAND_LINE`` of a folder of ``_backends`` for what needs no device, names a module
of this package, which has

* ``add(subcommands)``: subcommands of its own;
* ``RUN_USAGE``, ``add_run_options(parser)`` and ``run_environment(parsed)``: options of ``mindtorch run``, and the
  variables that they set for the program;
* ``describe(line)``: calls ``line(name, value)`` for what ``mindtorch info`` says of the device, and returns what to do
  next.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .._devices import registry


def modules() -> list[Any]:
    """Those of the devices that have one."""
    package = __package__.rpartition(".")[0]
    return [import_module(f"{package}.{name}") for name in registry.command_lines()]
