"""The NPU on the command line: ``mindtorch softnpu run`` and ``mindtorch softnpu env``, for any ACL program on the
software NPU, ``mindtorch run --npu``, and what ``mindtorch info`` says of it."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .. import _C
from .._backends.npu import acl_loader
from . import lib_folder
from ._settings import parse_bytes

_CANN_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_CHOICES = {"soft": "soft", "real": "hardware", "off": "off"}  # what MINDTORCH_NPU calls them
RUN_USAGE = "[--npu soft|real|off]"
_FAULT = re.compile(r"(task:)?[A-Za-z0-9_*]+:[1-9]\d*:[1-9]\d*(:(\d+|always))?")
_CHECKS = {"1", "all", "address", "uninitialised", "race"}


def add(subcommands: Any) -> None:
    command = subcommands.add_parser("softnpu", help="run programs on the software NPU")
    actions = command.add_subparsers(metavar="action", required=True)
    run = actions.add_parser(
        "run",
        help="run a program",
        description="Runs any program that uses AscendCL, torch_npu or this package on the software NPU.",
        usage="mindtorch softnpu run [options] -- program [argument ...]",
    )
    _add_settings(run)
    run.add_argument("program", nargs=argparse.REMAINDER, help="the program and its arguments, after --")
    run.set_defaults(run=_run)
    env = actions.add_parser(
        "env",
        help="print what to export",
        description="Prints the environment of 'run' for a shell: eval \"$(mindtorch softnpu env)\".",
    )
    _add_settings(env)
    env.set_defaults(run=_print_environment)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Of ``mindtorch run``."""
    parser.add_argument(
        "--npu",
        choices=sorted(_CHOICES),
        help="the software NPU, a card, or none (default: what MINDTORCH_NPU says, else a card if there is one)",
    )


def run_environment(parsed: argparse.Namespace) -> dict[str, str]:
    """What those options set for the program."""
    return {} if parsed.npu is None else {"MINDTORCH_NPU": _CHOICES[parsed.npu]}


def describe(line: Callable[[str, object], None]) -> str:
    """Tells ``mindtorch info`` what there is, and returns what to do next."""
    folder = acl_loader.software_folder()
    libraries = sorted(path.name for path in folder.glob("lib*.so"))
    line("software NPU", ", ".join(libraries) if libraries else f"missing: nothing in {folder}")
    for variable in _CANN_VARIABLES:
        if variable in os.environ:
            line("CANN", f"{variable}={os.environ[variable]}")
    if not any(variable in os.environ for variable in _CANN_VARIABLES):
        line("CANN", f"{' and '.join(_CANN_VARIABLES)} are not set")
    kind, problem = acl_loader.look()
    if kind is None:
        line("NPU", f"none: {problem}")
        return (
            "for a card, install CANN and source its set_env.sh. Without one, use the software NPU:\n"
            "  MINDTORCH_NPU=soft python program.py\n"
            "  mindtorch run --npu soft program.py       (a PyTorch program, unchanged)\n"
            "  mindtorch softnpu run -- python program.py"
        )
    line("NPU", f"{kind}, from {_C._npu.loaded_from()}")
    line("HCCL", _C._npu.hccl_problem() or "found")
    for index in range(_C._npu.probe()[0]):
        line(f"  npu:{index}", _C._npu.soc_name())
    return 'torch.ones(2, device="npu")'


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--devices", type=int, metavar="N", help="how many devices there are (default 1)")
    parser.add_argument("--memory", metavar="SIZE", help="memory of each device, such as 2GiB (default 8GiB)")
    parser.add_argument(
        "--soc", metavar="NAME", help="the chip it passes for, such as 910B1, 910A, 310P, 950"
    )
    parser.add_argument(
        "--delay-us", type=int, metavar="US", help="every operator and copy takes this much longer"
    )
    parser.add_argument(
        "--fail",
        action="append",
        metavar="FUNCTION:NTH:CODE[:COUNT]",
        help="make the NTH call return CODE; task:OPERATOR fails on the device; COUNT may be 'always'",
    )
    parser.add_argument("--trace", metavar="FILE", help="write every call as a line of JSON")
    parser.add_argument("--poison", action="store_true", help="fill fresh and freed memory with NaN")
    parser.add_argument(
        "--sanitize",
        nargs="?",
        const="all",
        metavar="CHECKS",
        help="report use after free, out of bounds, uninitialised reads and races, or those in the list "
        "address,uninitialised,race (write --sanitize=address,race)",
    )
    parser.add_argument("--sanitize-log", metavar="FILE", help="append each report as a line of JSON")
    parser.add_argument(
        "--schedule", type=int, metavar="SEED", help="let the seed decide which stream goes first"
    )


def settings(parsed: argparse.Namespace) -> dict[str, str]:
    """The SOFTNPU_* variables for the options. Raises ValueError for one that the library would refuse."""
    found: dict[str, str] = {}
    if parsed.devices is not None:
        if not 0 <= parsed.devices <= 64:
            raise ValueError(f"--devices is {parsed.devices}; wanted a number from 0 to 64")
        found["SOFTNPU_DEVICES"] = str(parsed.devices)
    if parsed.memory is not None:
        found["SOFTNPU_MEMORY"] = str(parse_bytes(parsed.memory))
    if parsed.soc is not None:
        found["SOFTNPU_SOC"] = parsed.soc
    if parsed.delay_us is not None:
        if parsed.delay_us < 0:
            raise ValueError(f"--delay-us is {parsed.delay_us}; wanted microseconds, at least 0")
        found["SOFTNPU_DELAY_US"] = str(parsed.delay_us)
    for rule in parsed.fail or ():
        if not _FAULT.fullmatch(rule):
            raise ValueError(f"--fail is {rule!r}; wanted FUNCTION:NTH:CODE, such as aclrtMalloc:3:207001")
    if parsed.fail:
        found["SOFTNPU_FAIL"] = ",".join(parsed.fail)
    if parsed.trace is not None:
        found["SOFTNPU_TRACE"] = os.path.abspath(parsed.trace)
    if parsed.poison:
        found["SOFTNPU_POISON"] = "1"
    if parsed.sanitize is not None:
        unknown = set(parsed.sanitize.split(",")) - _CHECKS
        if unknown:
            raise ValueError(
                f"--sanitize has {', '.join(sorted(unknown))!r}; wanted address, uninitialised or race"
            )
        found["SOFTNPU_SANITIZE"] = parsed.sanitize
    if parsed.sanitize_log is not None:
        found["SOFTNPU_SANITIZE_LOG"] = os.path.abspath(parsed.sanitize_log)
    if parsed.schedule is not None:
        if parsed.schedule < 0:
            raise ValueError(f"--schedule is {parsed.schedule}; wanted a seed, at least 0")
        found["SOFTNPU_SCHEDULE"] = str(parsed.schedule)
    return found


def environment(parsed: argparse.Namespace, current: Mapping[str, str]) -> dict[str, str]:
    """What the program needs besides its own environment."""
    folder = lib_folder()
    if not (folder / "libascendcl.so").exists():
        raise ValueError(f"this installation lacks {folder / 'libascendcl.so'}; build it with 'make build'")
    changes = {"LD_LIBRARY_PATH": _first(folder, current.get("LD_LIBRARY_PATH")), "MINDTORCH_NPU": "soft"}
    modules = folder.parent / "python"  # pyACL's `import acl`
    if modules.is_dir():
        changes["PYTHONPATH"] = _first(modules, current.get("PYTHONPATH"))
    return changes | settings(parsed)


def _first(folder: Path, others: str | None) -> str:
    return os.pathsep.join([str(folder), *([others] if others else [])])


def _run(parsed: argparse.Namespace) -> int:
    program = parsed.program[1:] if parsed.program[:1] == ["--"] else parsed.program
    if not program:
        raise ValueError("no program was given: mindtorch softnpu run [options] -- program [argument ...]")
    surroundings = dict(os.environ) | environment(parsed, os.environ)
    try:
        os.execvpe(program[0], program, surroundings)
    except OSError as error:
        raise OSError(f"cannot run {program[0]!r}: {error.strerror}") from error


def _print_environment(parsed: argparse.Namespace) -> int:
    for name, value in environment(parsed, os.environ).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0
