"""Attention on a GPU beside PyTorch's, forward and backward, in alternating runs timed by events.

python benchmarks/attention.py [--dtype float32] [--runs 20]
"""

import argparse
import importlib
import statistics
from typing import Any

# batch, heads, length, width
CASES = {"gpt2": (8, 12, 1024, 64), "long": (1, 16, 8192, 64), "wide": (4, 16, 2048, 128)}


class Side:
    """One library's tensors, as a layer's packed projection gives them."""

    def __init__(self, module: Any, sizes: tuple[int, ...], dtype: str) -> None:
        batch, heads, length, width = sizes
        self.module = module
        packed = module.randn(
            batch, length, 3 * heads * width, device="cuda", dtype=getattr(module, dtype), requires_grad=True
        )
        parts = packed.split(heads * width, 2)
        self.inputs = [t.view(batch, length, heads, width).transpose(1, 2) for t in parts]
        self.gradient = module.randn(batch, length, heads, width, device="cuda", dtype=getattr(module, dtype))

    def forward(self) -> Any:
        return self.module.nn.functional.scaled_dot_product_attention(*self.inputs, is_causal=True)

    def backward(self, made: Any, again: bool = False) -> Any:
        gradient = self.gradient.transpose(1, 2)
        return self.module.autograd.grad(made, self.inputs, gradient, retain_graph=again)

    def times(self) -> tuple[float, float]:
        """Milliseconds of forward and backward."""
        events = [self.module.cuda.Event(enable_timing=True) for _ in range(3)]
        events[0].record()
        made = self.forward()
        events[1].record()
        self.backward(made)
        events[2].record()
        self.module.cuda.synchronize()
        return events[0].elapsed_time(events[1]), events[1].elapsed_time(events[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", default="float32", choices=("float32", "float16", "bfloat16"))
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()
    modules = [importlib.import_module(name) for name in ("torch", "mindtorch_v2")]
    print(f"{'case':8} {'':9} {'torch ms':>9} {'ours ms':>9} {'ratio':>7}   (medians of {args.runs} pairs)")
    for name, sizes in CASES.items():
        sides = [Side(module, sizes, args.dtype) for module in modules]
        for side in sides:
            for _ in range(3):
                side.times()
        pairs = [[side.times() for side in sides] for _ in range(args.runs)]
        for which, part in enumerate(("forward", "backward")):
            theirs, ours = (statistics.median(pair[side][which] for pair in pairs) for side in range(2))
            print(f"{name:8} {part:9} {theirs:9.3f} {ours:9.3f} {ours / theirs:7.3f}", flush=True)


if __name__ == "__main__":
    main()
