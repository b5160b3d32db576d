"""Samples per second of a DataLoader with worker processes, beside PyTorch's on the same program and data.

    python benchmarks/dataloader.py [--workers 2] [--rounds 5]

Each library runs in processes of its own, in turn, so that both see the same machine; the ratio is that of the medians.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Any

# name: shape of a sample, samples, batch size
CASES = {
    "vector": ((32,), 40_000, 64),
    "image": ((3, 32, 32), 20_000, 64),
    "large": ((3, 224, 224), 256, 16),
}


def samples_per_second(torch: Any, data: Any, case: str, workers: int) -> float:
    shape, count, batch_size = CASES[case]
    # A few distinct samples, so that memory for all of them is not what is measured.
    distinct = min(count, 512)
    values = torch.arange(distinct * torch.empty(shape).numel(), dtype=torch.float32).reshape(
        distinct, *shape
    )

    class InMemory(data.Dataset):  # type: ignore[name-defined, misc]
        def __len__(self) -> int:
            return count

        def __getitem__(self, index: int) -> Any:
            return values[index % distinct], index

    loader = data.DataLoader(
        InMemory(), batch_size=batch_size, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )
    for _ in zip(range(5), loader, strict=False):  # the workers are up
        pass
    start = time.perf_counter()
    seen = sum(len(labels) for _, labels in loader)
    return seen / (time.perf_counter() - start)


def measure(library: str, case: str, workers: int) -> None:
    if library == "torch":
        import torch
        import torch.utils.data as data
    else:
        import mindtorch_v2 as torch  # type: ignore[no-redef]
        import mindtorch_v2.utils.data as data  # type: ignore[no-redef]
    print(json.dumps(samples_per_second(torch, data, case, workers)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", nargs=2, metavar=("LIBRARY", "CASE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(*arguments.measure, arguments.workers)
        return
    print(f"{'case':10} {'torch /s':>10} {'ours /s':>10} {'ratio':>7}   ({arguments.workers} workers)")
    for case in CASES:
        speeds: dict[str, list[float]] = {"torch": [], "mindtorch_v2": []}
        for _ in range(arguments.rounds):
            for library, found in speeds.items():
                command = [sys.executable, __file__, "--measure", library, case]
                command += ["--workers", str(arguments.workers)]
                found.append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
        theirs, ours = (statistics.median(found) for found in speeds.values())
        print(f"{case:10} {theirs:10.0f} {ours:10.0f} {ours / theirs:7.2f}", flush=True)


if __name__ == "__main__":
    main()
