"""Writes torch_values.h: what PyTorch's CPU generator gives, for test_random.cpp. Run with PyTorch 2.13 on x86-64:

python record_torch_values.py > torch_values.h
"""

import os
import subprocess
import sys

import torch


def numbers(name, tensor):
    kind = "double" if tensor.is_floating_point() else "int64_t"
    values = tensor.double() if tensor.is_floating_point() else tensor.long()
    text = ", ".join(repr(v) for v in values.flatten().tolist())
    print(f"inline constexpr {kind} {name}[] = {{{text}}};")


def seeded(seed=7):
    torch.manual_seed(seed)


def plain_normal_blocks():
    """From PyTorch's kernel for processors without AVX2, which is aarch64's, too."""
    code = "import torch; torch.manual_seed(7); print(torch.empty(37).normal_(0.3, 1.7).tolist())"
    environment = os.environ | {"ATEN_CPU_CAPABILITY": "default"}
    shown = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True
    )
    return torch.tensor([float(v) for v in shown.stdout.strip("[]\n").split(",")])


types = {"float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16}
version = torch.__version__.split("+")[0]
print(f"// Written by record_torch_values.py with PyTorch {version}; manual_seed(7) before each line.")
print("#pragma once\n\n#include <cstdint>\n\nnamespace torch_values {\n")
for name, dtype in types.items():
    seeded()
    numbers(f"uniform_{name}", torch.empty(5, dtype=dtype).uniform_(-1.3, 2.7))
    seeded()
    numbers(f"normal_small_{name}", torch.empty(5, dtype=dtype).normal_(0.3, 1.7))
    seeded()
    numbers(f"normal_blocks_{name}", torch.empty(37, dtype=dtype).normal_(0.3, 1.7))
    if name == "float":
        numbers("normal_blocks_float_plain", plain_normal_blocks())
    seeded()
    numbers(f"exponential_{name}", torch.empty(5, dtype=dtype).exponential_(2.5))
    seeded()
    numbers(f"random_full_{name}", torch.empty(5, dtype=dtype).random_())
seeded()
numbers("normal_transposed", torch.empty(4, 5).t().normal_().t().flatten())
seeded()
numbers("bernoulli", torch.empty(20).bernoulli_(0.4))
seeded()
numbers("bernoulli_tensor", torch.bernoulli(torch.full((10,), 0.4)))
RANGES = (
    ("small", -5, 5),
    ("middle", 0, (1 << 28) - 1),
    ("large", 0, 1 << 28),
    ("huge", -(1 << 62), 1 << 62),
)
for name, low, high in RANGES:
    seeded()
    numbers(f"ints_{name}", torch.randint(low, high, (4,)))
for name in ("uint8", "int32", "int64"):
    seeded()
    numbers(f"random_full_{name}", torch.empty(4, dtype=getattr(torch, name)).random_())
seeded()
numbers("permutation", torch.randperm(20))
seeded()
torch.randn(1)
torch.rand(700)
state = bytes(torch.get_rng_state().tolist())
total = 0
for byte in state:
    total = (total * 31 + byte) % (1 << 32)
print(
    "// After randn(1) and rand(700): the state's bytes folded with h = h * 31 + byte, and the next numbers."
)
print(f"inline constexpr uint32_t state_hash = {total}u;")
numbers("after_state", torch.cat([torch.randn(1), torch.rand(3)]))
print("\n}  // namespace torch_values")
