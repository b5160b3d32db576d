"""Writes what torchvision's and torchaudio's own kernels give to recorded.npz: ``python tests/packages/record.py``,
where PyTorch 2.13.0 and both packages are, compiled for it."""

from __future__ import annotations

from pathlib import Path

import numpy
import torch
import torchaudio  # noqa: F401 # brings its operators
import torchvision  # noqa: F401
from cases import CASES, results


def main() -> None:
    if Path(torch.__file__).parent.name != "torch":
        raise SystemExit("record.py must run with PyTorch itself")
    recorded = {
        f"{name}.{i}": value
        for name, case in CASES.items()
        for i, value in enumerate(results(torch, case, "cpu"))
    }
    numpy.savez_compressed(Path(__file__).parent / "recorded.npz", **recorded)


if __name__ == "__main__":
    main()
