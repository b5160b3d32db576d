"""Sparse products, coalescing and steps of SparseAdam, beside PyTorch on the CPU.

    PYTHONPATH=src .venv-parity/bin/python benchmarks/sparse.py [--threads 2] [--repeats 15]

Both libraries run by turns; the times are the smallest. What is wanted is at most PyTorch's time.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mindtorch_v2

NODES, EDGES, WIDTH = 20_000, 400_000, 64
ROWS, WORDS = 1_000_000, 20_000


def cases(library: Any) -> dict[str, Callable[[], Any]]:
    draw = np.random.default_rng(0)
    keys = np.unique(draw.integers(0, NODES * NODES, EDGES))
    weights = draw.standard_normal(len(keys)).astype("float32")
    at = library.tensor(np.stack([keys // NODES, keys % NODES]))
    coordinates = library.sparse_coo_tensor(at, library.tensor(weights), (NODES, NODES)).coalesce()
    rows = coordinates.to_sparse_csr()
    dense = library.tensor(draw.standard_normal((NODES, WIDTH)).astype("float32"))
    trained = dense.clone().requires_grad_()
    order = draw.permutation(len(keys))
    mixed = library.tensor(at.numpy()[:, order].copy()), library.tensor(weights[order])
    looked_up = library.tensor(draw.integers(0, ROWS // 10, 10 * WORDS)).unsqueeze(0)
    gradients = library.tensor(draw.standard_normal((10 * WORDS, 32)).astype("float32"))
    table = library.nn.Embedding(ROWS, 32, sparse=True)
    optimizer = library.optim.SparseAdam(list(table.parameters()), lr=0.01)
    words = library.tensor(draw.integers(0, ROWS, WORDS))

    def layer(adjacency: Any) -> Callable[[], None]:
        def step() -> None:
            trained.grad = None
            (adjacency @ trained).sum().backward()

        return step

    def adam() -> None:
        optimizer.zero_grad()
        table(words).square().mean().backward()
        optimizer.step()

    return {
        "coo @ dense": lambda: coordinates @ dense,
        "csr @ dense": lambda: rows @ dense,
        "coo @ vector": lambda: coordinates @ dense[:, 0],
        "coo layer and its gradient": layer(coordinates),
        "csr layer and its gradient": layer(rows),
        "coalesce a matrix": lambda: library.sparse_coo_tensor(*mixed, (NODES, NODES)).coalesce(),
        "coalesce rows": lambda: library.sparse_coo_tensor(looked_up, gradients, (ROWS, 32)).coalesce(),
        "sums of rows": lambda: library.sparse.sum(coordinates, 1),
        "SparseAdam, a million rows": adam,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time sparse operators beside PyTorch.")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    libraries = {"ours": mindtorch_v2, "theirs": torch}
    made = {}
    for name, library in libraries.items():
        library.set_num_threads(options.threads)
        made[name] = cases(library)
    for case in made["ours"]:
        best = dict.fromkeys(libraries, float("inf"))
        for _ in range(options.repeats):
            for name in libraries:
                begin = time.perf_counter()
                made[name][case]()
                best[name] = min(best[name], time.perf_counter() - begin)
        ratio = best["ours"] / best["theirs"]
        print(
            f"{case:28} {best['ours'] * 1e3:9.2f} ms  PyTorch {best['theirs'] * 1e3:9.2f} ms  ratio {ratio:.2f}"
        )


if __name__ == "__main__":
    main()
