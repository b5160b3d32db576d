"""Time of allocate + free on a cache hit, from Python: the native pool, the NPU's allocator, and a tensor.

    MINDTORCH_NPU=soft python benchmarks/allocator.py

Prints medians in nanoseconds per pair. ``benchmarks/allocator.cpp`` measures the same from C++.
"""

import statistics
import time
from collections.abc import Callable

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import allocator

PAIRS = 2000
ROUNDS = 51


def median_ns(pair: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        for _ in range(PAIRS):
            pair()
        times.append((time.perf_counter_ns() - start) / PAIRS)
    return statistics.median(times)


def main() -> None:
    torch.npu.init()
    pool = allocator.get_allocator(0)
    native = pool._native
    malloc, free = native.malloc, native.free
    cases: dict[str, Callable[[], object]] = {
        "nothing (the loop itself)": lambda: None,
        "native.free(native.malloc(1000))": lambda: free(malloc(1000)),
        "allocator.free(allocator.malloc(1000))": lambda: pool.free(pool.malloc(1000)),
        "torch.empty(250, device='npu')": lambda: torch.empty(250, device="npu"),
    }
    for name, pair in cases.items():
        pair()
        print(f"{name:42} {median_ns(pair):8.0f} ns")


if __name__ == "__main__":
    main()
