"""What the profiler costs: while it is off, while it is on, and for a million events.

    python benchmarks/profiler.py                  # all of it; PyTorch's ratio too, where PyTorch is installed
    python benchmarks/profiler.py --parts off,on   # some of it

Every figure is a ratio within one run, in short alternating blocks: a machine that slows down slows both sides.

* off: instructions of one `x + y` on 16 floats, and how many of them belong to the observation point
  (csrc/core/observe.h). valgrind counts them, so load does not matter. It needs line numbers in the compiled module:
  configure with -DMT_SYMBOLS=ON -DCMAKE_CXX_FLAGS=-g1. Beside it, the time of `x + y` after a profile has run over
  the time before any has.
* on: a training step of a small GPT with the profiler (no stacks, no memory) over one without.
* million: the memory and time that a million events take to record and to export.
"""

import argparse
import importlib
import importlib.util
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpt_step import gpt_step

CANDIDATE = "mindtorch_v2"
REFERENCE = "torch"


def seconds(function: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return time.perf_counter() - start


# --- off ---

ADDS = "import mindtorch_v2 as torch; x = torch.ones(16); y = torch.ones(16)\nfor _ in range({count}): x + y"


def instructions(count: int, folder: str) -> tuple[int, int, bool]:
    """Of a process that adds `count` times: all, those of observe.h, and whether lines are known."""
    out = Path(folder) / f"callgrind.{count}"
    command = ["valgrind", "--tool=callgrind", "--compress-strings=no", f"--callgrind-out-file={out}"]
    subprocess.run(
        [*command, sys.executable, "-c", ADDS.format(count=count)], check=True, capture_output=True, text=True
    )
    total = observed = 0
    here = lines = skip = False
    with out.open() as file:
        for line in file:
            if match := re.match(r"(?:fl|fi|fe)=(.*)", line):
                here = match[1].strip().endswith(("core/observe.h", "core/observe.cpp"))
                lines |= "csrc/" in match[1] or here
            elif line.startswith("calls="):
                skip = True  # the next line is the cost of what is called, which has its own lines
            elif match := re.match(r"[+\-*\d]\S* (\d+)$", line):
                if not skip:
                    total += int(match[1])
                    observed += int(match[1]) if here else 0
                skip = False
    return total, observed, lines


def measure_off(blocks: int) -> dict[str, float]:
    result: dict[str, float] = {}
    few, many = 2_000, 12_000
    with tempfile.TemporaryDirectory() as folder:
        first, second = instructions(few, folder), instructions(many, folder)
    per_add, observed = ((b - a) / (many - few) for a, b in zip(first[:2], second[:2], strict=True))
    result["instructions of x + y"] = per_add
    if second[2]:
        result["instructions of the observation point"] = observed
        result["share"] = observed / per_add
    torch = importlib.import_module(CANDIDATE)
    x, y = torch.ones(16), torch.ones(16)

    def add() -> object:
        return x + y

    before = [seconds(add, 2000) for _ in range(blocks)]
    with torch.profiler.profile():
        add()
    after = [seconds(add, 2000) for _ in range(blocks)]
    result["time after a profile / before one"] = min(after) / min(before)
    return result


# --- on ---


def measure_on(library: str, device: str, blocks: int) -> float:
    """The median, over pairs of blocks, of the time of a step with the profiler over one without."""
    torch = importlib.import_module(library)
    step = gpt_step(torch, device)
    wait = torch.npu.synchronize if device == "npu" else lambda: None

    def timed() -> float:
        start = time.perf_counter()
        step()
        wait()
        return time.perf_counter() - start

    for _ in range(3):
        timed()
    ratios = []
    for _ in range(blocks):
        plain = [timed() for _ in range(4)]
        with torch.profiler.profile():
            step()
            watched = [timed() for _ in range(4)]
        ratios.append(min(watched) / min(plain))
    return statistics.median(ratios)


# --- a million events ---


def record_a_million(path: str) -> dict[str, float]:
    torch = importlib.import_module(CANDIDATE)
    x = torch.ones(16)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    with torch.profiler.profile(record_shapes=True) as prof:
        for _ in range(1_000_000):
            x + x
    recorded = time.perf_counter()
    prof.export_chrome_trace(path)
    return {
        "MB before": before / 1024,
        "MB at the peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "seconds to record": recorded - start,
        "seconds to export": time.perf_counter() - recorded,
        "MB of the trace": os.path.getsize(path) / 1e6,
    }


def measure_million() -> dict[str, float]:
    """In a process of its own: the peak of memory is the process's."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--record-a-million", str(Path(folder) / "trace.json")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def show(title: str, figures: dict[str, Any]) -> None:
    print(title)
    for name, value in figures.items():
        print(f"  {name:48} {value:12.4g}" if isinstance(value, float) else f"  {name:48} {value:>12}")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="off,on,million", help="of off, on and million")
    parser.add_argument("--blocks", type=int, default=15, help="pairs of blocks")
    parser.add_argument("--record-a-million", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record_a_million:
        print(json.dumps(record_a_million(options.record_a_million)))
        return
    parts = options.parts.split(",")
    if "off" in parts:
        show("off", measure_off(options.blocks))
    if "on" in parts:
        figures: dict[str, Any] = {f"{CANDIDATE} on cpu": measure_on(CANDIDATE, "cpu", options.blocks)}
        if importlib.util.find_spec(REFERENCE):
            figures[f"{REFERENCE} on cpu"] = measure_on(REFERENCE, "cpu", options.blocks)
        if importlib.import_module(CANDIDATE).npu.is_available():
            figures[f"{CANDIDATE} on npu"] = measure_on(CANDIDATE, "npu", options.blocks)
        show("on: a GPT step with the profiler / without", figures)
    if "million" in parts:
        show("a million events", measure_million())


if __name__ == "__main__":
    main()
