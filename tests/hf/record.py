"""Writes PyTorch's results to recorded.npz: ``python tests/hf/record.py``, where PyTorch 2.13.0 and transformers are.

The gradient is kept as a few sums over it, weighted by cosines, so that the file stays small.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import torch

sys.path.insert(0, str(Path(__file__).parent))
from checks import sums
from tiny_models import MODELS, results


def main() -> None:
    if Path(torch.__file__).parent.name != "torch":
        raise SystemExit("record.py must run with PyTorch itself")
    recorded: dict[str, numpy.ndarray] = {}
    for name in MODELS:
        for attention in ("sdpa", "eager"):
            found = results(name, attention)
            found["gradient"] = sums(found["gradient"])
            recorded |= {f"{name}.{attention}.{key}": value for key, value in found.items()}
    numpy.savez_compressed(Path(__file__).parent / "recorded.npz", **recorded)


if __name__ == "__main__":
    main()
