"""The installed distributions ``torch`` and its vendors' that libraries look for with importlib.metadata."""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any


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


def named(package: str, names: Iterable[str], wanted: str | None) -> Iterator[_Distribution]:
    """The one of `names` that is wanted, in any spelling; all of them for None."""
    for name in names:
        if wanted is None or _normalized(wanted) == name:
            yield _Distribution(package, name)
