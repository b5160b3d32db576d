"""The installed distributions ``torch`` and ``torch_npu`` that libraries look for with importlib.metadata."""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

_NAMES = ("torch", "torch_npu")


class _Distribution(Distribution):
    def __init__(self, package: str, name: str) -> None:
        self._package, self._name = package, name

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            version = runpy.run_path(os.path.join(self._package, "version.py"))["__version__"]
            return (
                f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {version}\n"
                "Summary: MindTorch v2 under the name of the library whose API it has\n"
            )
        return f"{self._name}\n" if filename == "top_level.txt" else None

    def locate_file(self, path: Any) -> Path:
        return Path(self._package).parent.joinpath(path)


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def named(package: str, wanted: str | None) -> Iterator[_Distribution]:
    """The one with that name, in any spelling; all of them for None."""
    for name in _NAMES:
        if wanted is None or _normalized(wanted) == name:
            yield _Distribution(package, name)
