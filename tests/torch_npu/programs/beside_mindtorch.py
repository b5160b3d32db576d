"""torch_npu and mindtorch_v2 in one process: `beside_mindtorch.py MODULE MODULE`, loaded in that order."""

import importlib
import json
import sys

for name in sys.argv[1:]:
    importlib.import_module(name)
ours, theirs = importlib.import_module("mindtorch_v2"), importlib.import_module("torch")

sums = []
for module in (theirs, ours, theirs):
    x = module.ones(32, 32, device="npu", requires_grad=True)
    (x @ x).sum().backward()
    sums.append(x.grad.sum().item())
print(json.dumps({"sums": sums}))
