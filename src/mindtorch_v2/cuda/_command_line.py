"""GPUs on the command line: ``mindtorch cuda warm``, and what ``mindtorch info`` says of NVIDIA's libraries."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from .. import _C
from .._backends import cuda as _backend

RUN_USAGE = ""
_cuda = _C._cuda


def add(subcommands: Any) -> None:
    command = subcommands.add_parser("cuda", help="kernels for GPUs")
    actions = command.add_subparsers(metavar="action", required=True)
    warm = actions.add_parser(
        "warm",
        help="compile the usual kernels ahead",
        description="Compiles the kernels that most programs use, so that they need not be when they are first called. "
        "Needs NVRTC, and no GPU where --arch names the chip.",
    )
    warm.add_argument(
        "--arch", metavar="sm_90", help="the chip to compile for (default: those of the GPUs here)"
    )
    warm.add_argument("--all", action="store_true", help="every operator of one or two tensors, too")
    warm.add_argument(
        "--jobs", type=int, metavar="N", help="how many are compiled at once (default: all cores)"
    )
    warm.set_defaults(run=_warm)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """None: ``mindtorch run`` finds GPUs by itself."""


def run_environment(parsed: argparse.Namespace) -> dict[str, str]:
    return {}


def _warm(parsed: argparse.Namespace) -> int:
    from . import _warm as warm

    architectures = [parsed.arch] if parsed.arch else _architectures()
    if not architectures:
        raise RuntimeError(
            "there is no GPU to compile for; --arch names a chip: sm_80 for A100, sm_90 for H100 and "
            "H200, sm_100 for B200"
        )
    for architecture in architectures:
        warm.warm(architecture, everything=parsed.all, jobs=parsed.jobs or os.cpu_count() or 1)
    return 0


def _architectures() -> list[str]:
    if not _backend.may_be_there():
        return []
    found = {_cuda.attribute(index, 75) * 10 + _cuda.attribute(index, 76) for index in range(_cuda.probe())}
    return [f"sm_{number}" for number in sorted(found)]


def describe(line: Callable[[str, object], None]) -> str:
    """Tells ``mindtorch info`` what there is, and returns what to do next."""
    missing: dict[str, None] = {}
    for library in _cuda.vendor_libraries():
        name = library.title.removeprefix("the ")
        if library.available:
            line(name, f"{library.version or 'version unknown'}, {library.path}")
        else:
            line(name, f"missing. {library.problem}")
            if library.package:
                missing[library.package] = None
    line("CUDA kernels in", _cuda.cache_folder() or "no folder: HOME and MINDTORCH_CACHE are empty")
    if not _backend.may_be_there():
        hidden = os.environ.get("MINDTORCH_CUDA", "").lower() == "off"
        line("GPU", "hidden by MINDTORCH_CUDA=off" if hidden else "none: NVIDIA's driver is not loaded here")
        return "for a GPU, install NVIDIA's driver, then pip install 'mindtorch_v2[cuda]'"
    count = _cuda.probe()
    line(
        "GPU",
        f"{count} of them"
        if count
        else "none: the driver counts none (see nvidia-smi, CUDA_VISIBLE_DEVICES)",
    )
    for index in range(count):
        major, minor = _cuda.attribute(index, 75), _cuda.attribute(index, 76)
        gigabytes = _cuda.total_memory(index) / 2**30
        line(f"  cuda:{index}", f"{_cuda.device_name(index)}, sm_{major}{minor}, {gigabytes:.0f} GiB")
    if missing:
        return f"pip install {' '.join(missing)}"
    return 'torch.ones(2, device="cuda"); `mindtorch cuda warm` compiles the usual kernels ahead'
