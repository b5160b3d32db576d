"""Estimates of memory beside what the programs of estimate_programs.py then take: the table of docs/memory_tools.md.

python benchmarks/estimates.py        # on the CPU, and on an NPU where there is one
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import estimate_programs

import mindtorch_v2 as torch
from mindtorch_v2.memory_tools.estimates import Estimate, estimate
from mindtorch_v2.profiler import ProfilerActivity, profile


def estimated(program: estimate_programs.Program, device: str, conf: str = "") -> Estimate:
    """Without the device."""
    return estimate(
        lambda: estimate_programs.build(torch, program.model),
        optimizer=program.optimizer,
        checkpointing=program.checkpointing,
        autocast="bfloat16" if program.autocast else "",
        device=device,
        conf=conf,
    )


def on_npu(program: estimate_programs.Program) -> tuple[int, int]:
    """The most bytes of tensors, and the most reserved ones."""
    gc.collect()
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    before = torch.npu.memory_allocated()
    estimate_programs.train(torch, program, "small", "npu")
    return torch.npu.max_memory_allocated() - before, torch.npu.max_memory_reserved()


def on_host(program: estimate_programs.Program) -> int:
    """The most bytes of tensors, as the profiler saw them."""
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        estimate_programs.train(torch, program, "small", "cpu")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        watched.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    told = [
        each["args"] for each in events if each["name"] == "[memory]" and each["args"]["Device Type"] == 0
    ]
    return int(max(each["Total Allocated"] for each in told) - told[0]["Total Allocated"] + told[0]["Bytes"])


def main() -> None:
    has_npu = torch.npu.is_available()
    print("| program | cpu, MiB | estimate | npu: tensors, MiB | estimate | npu: reserved, MiB | estimate |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    for program in estimate_programs.programs():
        host = on_host(program)
        cells = [(host, estimated(program, "cpu").peak_allocated)]
        if has_npu:
            found = estimated(program, "npu")
            allocated, reserved = on_npu(program)
            cells += [(allocated, found.peak_allocated), (reserved, found.peak_reserved)]
        shown = [f"{real / 2**20:.2f} | {ours / real - 1:+.2%}" for real, ours in cells]
        print(f"| {program.name} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
