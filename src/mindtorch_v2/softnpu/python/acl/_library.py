"""The libraries of this process."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path
from typing import Any

# Part of acl.op is in the second one; a program may do without it.
_NAMES = ("libascendcl.so", "libacl_op_compiler.so")


def _loaded_file(name: str) -> str | None:
    """The file of a library that the process has loaded already."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        match = re.search(r"(/.*)$", line)
        if match is not None and Path(match[1]).name.startswith(name):
            return match[1]
    return None


def _open(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(_loaded_file(name) or name, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None


@cache
def libraries() -> list[ctypes.CDLL]:
    found = [library for library in map(_open, _NAMES) if library is not None]
    if not found or not found[0]._name.endswith(_NAMES[0]):
        raise ImportError(
            f"{_NAMES[0]} was not found. For a card, source CANN's set_env.sh; for the software NPU, start the "
            f"program with 'mindtorch softnpu run -- ...', or put its library folder into LD_LIBRARY_PATH."
        )
    return found


def path() -> str:
    return _loaded_file(_NAMES[0]) or str(libraries()[0]._name)


def find(name: str) -> Any | None:
    """The library that has the function; None when there is none."""
    return next((library for library in libraries() if hasattr(library, name)), None)
