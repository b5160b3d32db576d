"""Jacobians and Hessians of a small network beside PyTorch's, both in one process, in alternating blocks.

python benchmarks/forward_mode.py [--blocks 20]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import mindtorch_v2


def cases(lib: Any) -> dict[str, Callable[[], Any]]:
    """The same network and data in either library."""
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> Any:
        return lib.from_numpy(torch.randn(*shape, generator=generator).numpy())

    first, second, third = drawn(64, 32) / 6, drawn(64, 64) / 8, drawn(16, 64) / 8
    x, v = drawn(32), drawn(32)

    def network(t: Any) -> Any:
        return third @ lib.tanh(second @ lib.tanh(first @ t))

    func = lib.func
    return {
        "jvp": lambda: func.jvp(network, (x,), (v,)),
        "jacfwd": lambda: func.jacfwd(network)(x),
        "jacrev": lambda: func.jacrev(network)(x),
        "hessian": lambda: func.hessian(lambda t: network(t).square().sum())(x),
    }


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=20, help="pairs of calls per case")
    blocks = parser.parse_args().blocks
    for lib in (torch, mindtorch_v2):
        lib.set_num_threads(1)
    theirs, ours = cases(torch), cases(mindtorch_v2)
    print(f"{'case':10} {'torch ms':>10} {'ours ms':>10} {'ratio':>7}   (medians of {blocks} pairs)")
    for name in theirs:
        theirs[name](), ours[name]()
        pairs = [(seconds(theirs[name]) * 1e3, seconds(ours[name]) * 1e3) for _ in range(blocks)]
        ratio = statistics.median(mine / other for other, mine in pairs)
        medians = [statistics.median(column) for column in zip(*pairs, strict=True)]
        print(f"{name:10} {medians[0]:10.3f} {medians[1]:10.3f} {ratio:7.3f}", flush=True)


if __name__ == "__main__":
    main()
