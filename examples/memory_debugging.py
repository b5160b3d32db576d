"""Finds a leak: a program that keeps more than it meant to, and what shows it.

    mindtorch run --npu soft examples/memory_debugging.py     on the software NPU
    python examples/memory_debugging.py                       the same program on PyTorch, with a GPU

The mistake is a common one: `total += loss` keeps every step's graph alive, `total += loss.item()` does not.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import common
import torch
from torch import nn


def run(model, inputs, steps: int, leaky: bool):
    total = 0.0
    for number in range(steps):
        loss = model(inputs).square().mean()
        total += loss if leaky else loss.item()
        print(f"  step {number}: {torch.accelerator.memory_allocated() / 2**20:6.1f} MiB allocated")
    return total


def where_from(snapshot: dict) -> Counter:
    """Bytes that are held at the end, by the line of this file that asked for them."""
    held: Counter = Counter()
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            if block["state"] != "active_allocated":
                continue
            lines = [frame for frame in block.get("frames", ()) if frame["filename"] == __file__]
            held[f"line {lines[0]['line']} ({lines[0]['name']})" if lines else "before the history"] += block[
                "size"
            ]
    return held


def main() -> None:
    options = common.parser(__doc__, steps=6).parse_args()
    if options.device == "cpu":
        sys.exit(
            "This example looks at an accelerator's memory. Run it with `mindtorch run --npu soft`, or on a GPU."
        )
    torch.manual_seed(options.seed)
    device_memory = getattr(torch, options.device).memory
    model = nn.Sequential(*(nn.Linear(512, 512) for _ in range(4))).to(options.device)
    inputs = torch.randn(1024, 512, device=options.device)

    print("as it should be:")
    run(model, inputs, options.steps, leaky=False)
    print("with the leak:")
    device_memory._record_memory_history()
    total = run(model, inputs, options.steps, leaky=True)
    snapshot = device_memory._snapshot()
    print("who holds what at the end:")
    for place, size in where_from(snapshot).most_common(5):
        print(f"  {size / 2**20:6.1f} MiB from {place}")
    path = Path("leak_snapshot.pickle")
    device_memory._dump_snapshot(str(path))
    device_memory._record_memory_history(enabled=None)
    print(f"the sum, which keeps all that alive: {total.item():.4f}")
    print(
        f"wrote {path}: `mindtorch memory view {path}` makes a page of it, "
        f"`mindtorch memory leaks {path}` names the line"
    )


if __name__ == "__main__":
    main()
