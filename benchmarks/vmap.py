"""Gradients of single samples (vmap of grad) and Jacobians beside PyTorch's, both in one process, in turns.

python benchmarks/vmap.py [--rounds 15] [--threads 1]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

import mindtorch_v2


def mlp(lib: Any) -> Any:
    nn = lib.nn
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


def transformer(lib: Any) -> Any:
    nn, functional = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(64), nn.LayerNorm(64)
            self.joined, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
            self.up, self.down = nn.Linear(64, 128), nn.Linear(128, 64)

        def forward(self, x: Any) -> Any:
            batch, length, width = x.shape
            query, key, value = (
                part.reshape(batch, length, 4, width // 4).transpose(1, 2)
                for part in self.joined(self.first(x)).chunk(3, -1)
            )
            found = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.out(found.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(functional.gelu(self.up(self.second(x))))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(100, 64)
            self.blocks = nn.Sequential(Block(), Block())
            self.head = nn.Linear(64, 100)

        def forward(self, tokens: Any) -> Any:
            return self.head(self.blocks(self.table(tokens)))

    return Model()


def cases(lib: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    lib.manual_seed(0)
    func, functional = lib.func, lib.nn.functional

    def per_sample(model: Any, inputs: Any, targets: Any) -> Callable[[], object]:
        parameters = {name: p.detach() for name, p in model.named_parameters()}

        def loss(values: Any, x: Any, y: Any) -> Any:
            made = func.functional_call(model, values, (x.unsqueeze(0),))
            return functional.cross_entropy(made.flatten(0, -2), y.reshape(-1))

        mapped = lib.vmap(func.grad(loss), in_dims=(None, 0, 0))
        return lambda: mapped(parameters, inputs, targets)

    yield "mlp, 64 samples", per_sample(mlp(lib), lib.randn(64, 64), lib.randint(0, 10, (64,)))
    tokens = lib.randint(0, 100, (16, 33))
    yield "transformer, 16 samples", per_sample(transformer(lib), tokens[:, :-1], tokens[:, 1:])

    weight = lib.randn(32, 32)
    point = lib.randn(32)
    yield "jacrev, 32 x 32", lambda: func.jacrev(lambda x: (weight @ x).tanh())(point)
    yield "hessian, 32", lambda: func.hessian(lambda x: (weight @ x).tanh().pow(2).sum())(point)


def seconds(function: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    for lib in (torch, mindtorch_v2):
        lib.set_num_threads(options.threads)
    ours = dict(cases(mindtorch_v2))
    print(f"{'case':26} {'torch ms':>9} {'ours ms':>9} {'ratio':>7}   (medians of {options.rounds} rounds)")
    for name, theirs in cases(torch):
        calls = max(1, int(0.05 / seconds(theirs, 2)))
        seconds(ours[name], 2)
        pairs = [(seconds(theirs, calls), seconds(ours[name], calls)) for _ in range(options.rounds)]
        ratio = statistics.median(mine / other for other, mine in pairs)
        print(
            f"{name:26} {statistics.median(p[0] for p in pairs) * 1e3:9.3f} "
            f"{statistics.median(p[1] for p in pairs) * 1e3:9.3f} {ratio:7.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
