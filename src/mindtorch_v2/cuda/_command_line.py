"""GPUs on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

RUN_USAGE = ""


def add(subcommands: Any) -> None:
    pass


def add_run_options(parser: argparse.ArgumentParser) -> None:
    pass


def run_environment(parsed: argparse.Namespace) -> dict[str, str]:
    return {}


def describe(line: Callable[[str, object], None]) -> str:
    return ""
