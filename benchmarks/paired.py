"""Host time of small operators beside PyTorch's, both in one process, in short alternating blocks.

    python benchmarks/paired.py [--blocks 300]

A shared machine may run at half its speed for a while. Blocks of about a millisecond see the same speed on
both sides, so the median of their ratios is steady where medians of whole runs are not.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from host import host_cases

import mindtorch_v2


def block(function: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=300, help="pairs of blocks per case")
    blocks = parser.parse_args().blocks
    candidates = dict(host_cases(mindtorch_v2, "cpu"))
    print(f"{'case':16} {'torch µs':>10} {'ours µs':>10} {'ratio':>7}   (medians of {blocks} pairs)")
    for name, theirs in host_cases(torch, "cpu"):
        graph = name in ("add_grad", "backward3")
        torch.set_grad_enabled(graph)
        mindtorch_v2.set_grad_enabled(graph)
        ours = candidates[name]
        calls = max(10, int(1000 / max(block(theirs, 200), 0.1)))
        pairs = [(block(theirs, calls), block(ours, calls)) for _ in range(blocks)]
        ratio = statistics.median(mine / other for other, mine in pairs)
        print(
            f"{name:16} {statistics.median(p[0] for p in pairs):10.3f} "
            f"{statistics.median(p[1] for p in pairs):10.3f} {ratio:7.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
