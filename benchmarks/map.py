"""Times every operator of the table beside PyTorch, and keeps the result as a table and a picture.

    python benchmarks/map.py                                       # everything, at 1, 2 and all threads: about an hour
    python benchmarks/map.py --only unary,gather --threads 2 --quick
    python benchmarks/map.py --draw                                # the pages again, from what was kept

A case is a call of one row with one size, dtype and layout, forward or backward. Both libraries run in this process,
in short blocks in turn, so that a machine that slows down slows both; the fastest block of each counts. With several
threads a rest comes before each block, in which the other library's threads go to sleep: OpenMP's look for new work for
milliseconds, and would take the processors from those that are timed. Then the block's own are called until they have
found a processor each: two that wake up on one stay there for a while. The results are kept per architecture in
docs/map_<architecture>.json; cases that were timed again replace what was there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import map_cases
import map_page
import torch
from map_cases import Case, Missing

import mindtorch_v2

Measured = dict[str, Any]


CLOCKS = {"wall": time.perf_counter, "cpu": time.thread_time}


REST = 0.02  # seconds
AWAKE = 0.005


def block(function: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(calls):
        function()
    return (clock() - start) / calls


def fastest(
    functions: list[Callable[[], object]], seconds: float, clock: Callable[[], float], threads: int
) -> list[float]:
    """The fastest block of each, in seconds per call. Blocks of at least 2 ms, the first ones to warm up."""
    times = [max(min(block(f, 1, clock), block(f, 1, clock)), 1e-7) for f in functions]
    calls = [max(1, round(0.002 / t)) for t in times]
    best = [float("inf")] * len(functions)
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 3 or (time.perf_counter() < end and rounds < 40):
        for i, f in enumerate(functions):
            if threads > 1:
                time.sleep(REST)
                awake = time.perf_counter() + AWAKE
                f()
                while time.perf_counter() < awake:
                    f()
            best[i] = min(best[i], block(f, calls[i], clock))
        rounds += 1
    return best


def measure(case: Case, seconds: float, clock: Callable[[], float], threads: int) -> Measured | str:
    """The times of both, or why there are none."""
    mindtorch_v2.set_grad_enabled(case.backward)
    torch.set_grad_enabled(case.backward)
    try:
        theirs = case.build(torch)
        theirs()
    except (
        Missing,
        RuntimeError,
        TypeError,
        ValueError,
        IndexError,
        NotImplementedError,
        AttributeError,
    ) as error:
        return f"PyTorch has none: {str(error).splitlines()[0][:80] if str(error) else type(error).__name__}"
    try:
        ours = case.build(mindtorch_v2)
        ours()
    except Exception as error:  # noqa: BLE001 - any failure of ours belongs into the table
        return f"FAILED: {type(error).__name__}: {str(error)[:100]}"
    other, mine = fastest([theirs, ours], seconds, clock, threads)
    return {
        "theirs_us": round(other * 1e6, 2),
        "ours_us": round(mine * 1e6, 2),
        "ratio": round(mine / other, 3),
    }


def progress(done: int, count: int, start: float, what: str) -> None:
    seconds = time.perf_counter() - start
    left = seconds / max(done, 1) * (count - done)
    line = f"[{done}/{count}, {seconds / 60:.1f} min, {left / 60:.0f} left] {what}"
    if sys.stderr.isatty():
        print(f"\r\033[K{line[:150]}", end="", file=sys.stderr, flush=True)
    else:
        print(line, file=sys.stderr, flush=True)


def run(
    cases: list[Case], threads: list[int], seconds: float, clock: Callable[[], float]
) -> dict[str, Measured]:
    found: dict[str, Measured] = {}
    start = time.perf_counter()
    count = len(cases) * len(threads)
    for number, (case, used) in enumerate((c, t) for c in cases for t in threads):
        torch.set_num_threads(used)
        mindtorch_v2.set_num_threads(used)
        result = measure(case, seconds, clock, used)
        key = f"{case.area}: {case.name} @{used}"
        if isinstance(result, str):
            progress(number + 1, count, start, f"{key}: {result}")
            if result.startswith("FAILED"):
                print(f"\n{key}: {result}", file=sys.stderr)
            continue
        found[key] = {"area": case.area, "row": case.row, "case": case.name, "threads": used, **result}
        progress(number + 1, count, start, f"{key}: {result['ratio']:.2f}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="areas or rows, with commas between them")
    parser.add_argument(
        "--threads", default=f"1,2,{os.cpu_count()}", help="numbers of threads (1, 2 and all)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer sizes, dtypes and layouts, less time for each"
    )
    parser.add_argument("--seconds", type=float, default=0.0, help="time for a case (0.3, with --quick 0.05)")
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="cpu: on a machine that others use; with --threads 1"
    )
    parser.add_argument("--draw", action="store_true", help="only write the pages again")
    parser.add_argument("--out", default=str(map_cases.ROOT / "docs"), help="folder of the results")
    options = parser.parse_args()
    kept = Path(options.out) / f"map_{platform.machine()}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(kept.read_text()) if kept.exists() else {"cases": {}}
    if not options.draw:
        only = [o for o in options.only.split(",") if o]
        cases, without = map_cases.all_cases(only, options.quick)
        if not cases:
            raise SystemExit(f"no row or area is called {options.only!r}; areas are the files of ops/")
        threads = sorted({int(t) for t in options.threads.split(",")})
        if options.clock == "cpu" and threads != [1]:
            raise SystemExit("--clock cpu sees the calling thread only: it needs --threads 1")
        seconds = options.seconds or (0.05 if options.quick else 0.3)
        found = run(cases, threads, seconds, CLOCKS[options.clock])
        print(file=sys.stderr)
        before["cases"].update(found)
        if not only:
            before["without"] = without
        before["machine"] = map_page.machine()
        before["how"] = f"Clock: {options.clock}; {seconds:g} seconds for a case" + (
            ", fewer sizes, dtypes and layouts (`--quick`)." if options.quick else "."
        )
        before["versions"] = {"torch": torch.__version__, "mindtorch_v2": mindtorch_v2.__version__}
        kept.write_text(json.dumps(before, indent=0, sort_keys=True) + "\n")
        print(map_page.summary(list(found.values())))
    map_page.write(before, kept.with_suffix(".md"), kept.with_suffix(".svg"))
    print(f"written: {kept.with_suffix('.md')}, {kept.with_suffix('.svg')}", file=sys.stderr)


if __name__ == "__main__":
    main()
