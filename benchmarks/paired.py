"""Host time of small operators beside PyTorch's, both in one process, in short alternating blocks.

    python benchmarks/paired.py [--blocks 300]

A shared machine may run at half its speed for a while. Blocks of about a millisecond see the same speed on both
sides, so the median of their ratios is steady where medians of whole runs are not.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import mindtorch_v2

Cases = dict[str, Callable[[], object]]


def cases(lib: Any) -> Cases:
    a, b = lib.randn(16), lib.randn(16)
    accumulator = lib.zeros(16)
    leaf = lib.randn(16, requires_grad=True)
    matrix = lib.randn(4, 4)
    return {
        "host.add": lambda: a + b,
        "host.add_scalar": lambda: a + 1.0,
        "host.add_": lambda: accumulator.add_(b),
        "host.relu": lambda: lib.relu(a),
        "host.sum": lambda: a.sum(),
        "host.matmul": lambda: matrix @ matrix,
        "host.view": lambda: matrix.view(16),
        "host.transpose": lambda: matrix.t(),
        "host.empty": lambda: lib.empty(16, device="cpu"),
        "host.index": lambda: matrix[1],
        "host.softmax": lambda: lib.softmax(matrix, -1),
        "host.add_grad": lambda: leaf + b,
        "host.backward3": lambda: (leaf * b + b).sum().backward(),
    }


def block(function: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=300, help="pairs of blocks per case")
    blocks = parser.parse_args().blocks
    reference, candidate = cases(torch), cases(mindtorch_v2)
    print(f"{'case':16} {'torch µs':>10} {'ours µs':>10} {'ratio':>7}   (medians of {blocks} pairs)")
    for name in reference:
        graph = name in ("host.add_grad", "host.backward3")
        torch.set_grad_enabled(graph)
        mindtorch_v2.set_grad_enabled(graph)
        theirs, ours = reference[name], candidate[name]
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
