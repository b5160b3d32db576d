"""The command ``mindtorch``: one module per subcommand, each with ``add(subcommands)``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .._version import __version__
from . import _devices, flight, info, launch, memory, plan, run


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mindtorch", description="Tools of MindTorch v2.")
    parser.add_argument("--version", action="version", version=f"mindtorch_v2 {__version__}")
    subcommands = parser.add_subparsers(metavar="command", required=True)
    for module in (info, run, launch, plan, flight, memory, *_devices.modules()):
        module.add(subcommands)
    parsed = parser.parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except (ValueError, OSError, RuntimeError) as error:
        print(f"mindtorch: {error}", file=sys.stderr)
        return 2
