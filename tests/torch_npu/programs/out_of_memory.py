"""Asks for more memory than there is, recovers, and trains with what is left.

python out_of_memory.py DEVICE      (run with a device memory of 256 MiB)
"""

import gc
import json
import sys

import torch

device = sys.argv[1]

torch.manual_seed(0)
layer = torch.nn.Linear(64, 64).to(device)
message = ""
try:
    blocks = [torch.empty(32 << 20, dtype=torch.uint8, device=device) for _ in range(16)]
except torch.OutOfMemoryError as error:
    message = str(error)
gc.collect()
torch.npu.empty_cache()

losses = []
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
x = torch.randn(128, 64).to(device)
for _ in range(5):
    loss = layer(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
block = torch.zeros(128 << 20, dtype=torch.uint8, device=device)
print(json.dumps({"message": message, "losses": losses, "sum": int(block[::4096].sum())}))
