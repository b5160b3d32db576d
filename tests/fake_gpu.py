"""A machine with a made-up GPU (tests/cuda/fake_driver.c), for programs of tests where there is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_SOURCE = Path(__file__).parent / "cuda" / "fake_driver.c"


def build(folder: Path) -> Path:
    """Compiles the driver into a folder."""
    library = folder / "libcuda.so.1"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE)], check=True)
    return library


def environment(folder: Path, packages: Path | None = None) -> dict[str, str]:
    """Of a program that sees the driver of this folder, and libraries of NVIDIA among these packages only."""
    paths = [str(packages)] if packages else []
    return os.environ | {
        "LD_LIBRARY_PATH": str(folder), "MINDTORCH_CUDA": "on", "MINDTORCH_NPU": "off",
        "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]),
        "MINDTORCH_CACHE": str(folder / "cache"), "CUDA_HOME": str(folder),
    }  # fmt: skip
