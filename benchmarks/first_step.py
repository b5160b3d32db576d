"""How long a fresh process takes to the end of its first training step, with PyTorch and with this package.

    python benchmarks/first_step.py [--device cuda] [--runs 3] [--layers 4] [--width 128]

Each run is a process of its own, the libraries in turns: the import, the model on the device, one step of AdamW.
Kernels are compiled and kept by a run that is not counted.
"""

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import time
from itertools import pairwise

from gpt_step import gpt_step

PARTS = ("import", "model", "first step")


def one(options: argparse.Namespace) -> None:
    times = [time.perf_counter()]
    torch = importlib.import_module(options.one)
    times.append(time.perf_counter())
    step = gpt_step(torch, options.device, layers=options.layers, width=options.width)
    torch.zeros(1, device=options.device).item()
    times.append(time.perf_counter())
    step().item()
    times.append(time.perf_counter())
    print(json.dumps([end - begin for begin, end in pairwise(times)]))


def measured(library: str, options: argparse.Namespace) -> list[float]:
    settings = ["--device", options.device, "--layers", str(options.layers), "--width", str(options.width)]
    command = [sys.executable, __file__, "--one", library, *settings]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    for name, default in (("runs", 3), ("layers", 4), ("width", 128)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options)
        return
    runs: dict[str, list[list[float]]] = {"torch": [], "mindtorch_v2": []}
    for library in runs:
        measured(library, options)
    for _ in range(options.runs):
        for library, found in runs.items():
            found.append(measured(library, options))
            parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in zip(PARTS, found[-1], strict=True))
            print(f"{library:13} {sum(found[-1]):6.2f} s: {parts}", flush=True)
    theirs, ours = (statistics.median(map(sum, found)) for found in runs.values())
    theirs_step, ours_step = (statistics.median(run[-1] for run in found) for found in runs.values())
    print(f"ours over PyTorch's: {ours / theirs:.2f}; of the step alone: {ours_step / theirs_step:.2f}")


if __name__ == "__main__":
    main()
