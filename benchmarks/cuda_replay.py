"""Replay what PyTorch's allocator did in a GPT's training steps with this allocator, both on the GPU.

    python benchmarks/cuda_replay.py [--layers 6] [--width 384] [--vocabulary 4096] [--steps 4] …

PyTorch trains and records its allocations and frees; this package makes the same ones, in the same order, in a
process of its own. Printed are the bytes that each had reserved at most.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from gpt_step import gpt_step

SIZES = {"layers": 6, "heads": 6, "width": 384, "context": 256, "vocabulary": 4096, "batch": 16}


def record(options: argparse.Namespace) -> None:
    import torch

    torch.cuda.memory._record_memory_history(max_entries=10**7, context=None)
    step = gpt_step(torch, "cuda", **{name: getattr(options, name) for name in SIZES})
    for _ in range(options.steps):
        step()
    torch.cuda.synchronize()
    entries = torch.cuda.memory._snapshot()["device_traces"][0]
    done = [
        (e["action"], e["addr"], e["size"]) for e in entries if e["action"] in ("alloc", "free_completed")
    ]
    options.record.write_text(json.dumps({"done": done, "peaks": peaks(torch)}))


def replay(trace: Path) -> dict[str, int]:
    import mindtorch_v2 as torch

    torch.cuda.init()
    held: dict[int, int] = {}
    for action, address, size in json.loads(trace.read_text())["done"]:
        if action == "alloc":
            held[address] = torch.cuda.caching_allocator_alloc(size, 0)
        else:
            torch.cuda.caching_allocator_delete(held.pop(address))
    return peaks(torch)


def peaks(torch) -> dict[str, int]:
    counted = torch.cuda.memory_stats()
    return {name: counted[f"{name}_bytes.all.peak"] for name in ("reserved", "allocated")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (*SIZES.items(), ("steps", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--record", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record:
        record(options)
        return
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--record", str(trace)], check=True)
        recorded = json.loads(trace.read_text())
        ours, theirs = replay(trace), recorded["peaks"]
    print(f"{len(recorded['done'])} allocations and frees")
    for name, found in ours.items():
        print(f"{name:9} at most {found:14,} bytes, PyTorch {theirs[name]:14,}: {found / theirs[name]:.4f}")


if __name__ == "__main__":
    main()
