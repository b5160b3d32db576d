"""Estimates of memory against what PyTorch takes on a GPU, for the programs of estimate_programs.py.

    python benchmarks/estimates_on_cuda.py measure > measured.json     # PyTorch with a GPU; without this package
    python benchmarks/estimates_on_cuda.py compare measured.json       # this package, anywhere: a table

``measure`` writes, for each program, the most bytes that tensors had and that PyTorch reserved, and what lived when
most was reserved: sizes of blocks of 1 MiB and more with how many there were. What does not run is written with its
error.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import estimate_programs

_LARGE = 1 << 20


def _live_at_peak(snapshot: dict[str, Any], device: int) -> dict[str, int]:
    """Blocks that lived when most was allocated, by size."""
    live: dict[int, int] = {}
    now = most = 0
    found: Counter[int] = Counter()
    for event in snapshot["device_traces"][device]:
        if event["action"] == "alloc":
            live[event["addr"]] = event["size"]
            now += event["size"]
            if now > most:
                most = now
                found = Counter(live.values())
        elif event["action"] == "free_completed":
            now -= live.pop(event["addr"], 0)
    return {str(size): number for size, number in sorted(found.items(), reverse=True) if size >= _LARGE}


def _measure_one(torch: Any, program: estimate_programs.Program, scale: str, blocks: bool) -> dict[str, Any]:
    # What the libraries keep between programs goes back, so that each program begins as a process does.
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    begun = time.perf_counter()
    found: dict[str, Any] = {"before": before}
    if blocks:
        torch.cuda.memory._record_memory_history(stacks="python", context=None, max_entries=1_000_000)
    try:
        estimate_programs.train(torch, program, scale, "cuda")
    except (RuntimeError, ValueError) as error:  # the others are still worth measuring
        found["error"] = f"{type(error).__name__}: {error}"[:400]
    torch.cuda.synchronize()
    if blocks:
        found["live_at_peak"] = _live_at_peak(torch.cuda.memory._snapshot(), torch.cuda.current_device())
        torch.cuda.memory._record_memory_history(enabled=None)
    found["seconds"] = round(time.perf_counter() - begun, 3)
    found["max_allocated"] = torch.cuda.max_memory_allocated()
    found["max_reserved"] = torch.cuda.max_memory_reserved()
    return found


def measure(scale: str, blocks: bool, seconds: float) -> dict[str, Any]:
    """All programs, as PyTorch runs them."""
    import torch

    if not torch.cuda.is_available():
        raise SystemExit("measure needs PyTorch with a GPU, and there is none")
    begun = time.perf_counter()
    torch.ones(8, device="cuda") @ torch.ones(8, device="cuda")  # the context, and the library's handle
    facts = torch.cuda.get_device_properties(0)
    result: dict[str, Any] = {
        "torch": torch.__version__, "device": facts.name, "capability": [facts.major, facts.minor], "scale": scale,
        "total": facts.total_memory, "programs": {},
    }  # fmt: skip
    for program in estimate_programs.programs():
        if time.perf_counter() - begun > seconds:
            result["stopped"] = f"after {seconds:g} s, before {program.name}"
            break
        result["programs"][program.name] = _measure_one(torch, program, scale, blocks)
        gc.collect()
    return result


def compare(measured: dict[str, Any]) -> int:
    """Prints both, and how far they are from each other."""
    import mindtorch_v2 as torch
    from mindtorch_v2.memory_tools.estimates import estimate

    far = 0
    for program in estimate_programs.programs():
        found = measured["programs"].get(program.name)
        if found is None or "error" in found:
            print(
                f"{program.name:36} not measured: {(found or measured).get('error', measured.get('stopped'))}"
            )
            continue
        ours = estimate(
            lambda program=program: estimate_programs.build(torch, program.model, measured["scale"]),
            optimizer=program.optimizer,
            checkpointing=program.checkpointing,
            autocast="bfloat16" if program.autocast else "",
            device="cuda",
        )
        expected = ours.peak_reserved
        off = expected / found["max_reserved"] - 1
        far += abs(off) > 0.05
        print(
            f"{program.name:36} {found['max_reserved']:>14,} measured {expected:>14,} estimated {off:+8.2%}"
        )
    print(f"{far} are off by more than 5 %")
    return 1 if far else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("measure", help="what PyTorch takes on a GPU, as JSON")
    command.add_argument("--scale", choices=estimate_programs.SCALES, default="large")
    command.add_argument("--no-blocks", action="store_true", help="leave out which blocks lived at the peak")
    command.add_argument("--seconds", type=float, default=75, help="begin no program after this time (75)")
    command = commands.add_parser("compare", help="estimates of this package beside what was measured")
    command.add_argument("measured", type=Path)
    parsed = parser.parse_args()
    if parsed.command == "compare":
        return compare(json.loads(parsed.measured.read_text()))
    print(json.dumps(measure(parsed.scale, not parsed.no_blocks, parsed.seconds), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
