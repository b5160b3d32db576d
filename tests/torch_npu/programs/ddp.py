"""Trains on two processes with DistributedDataParallel; rank 0 prints the losses and what the ranks agree on.

python ddp.py BACKEND      (hccl: every rank has its npu; gloo: on the CPU)
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

WORLD = 2


def train(rank: int, backend: str, store: str, results: str) -> None:
    distributed.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=WORLD)
    device = torch.device("cpu")
    if backend == "hccl":
        device = torch.device("npu", rank)
        torch.npu.set_device(device)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(12, 24), torch.nn.ReLU(), torch.nn.Linear(24, 3)).to(device)
    inputs, targets = torch.randn(10, 16, 12), torch.randn(10, 16, 3)
    parallel = DistributedDataParallel(model, device_ids=None if backend == "gloo" else [rank])
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for x, y in zip(inputs, targets, strict=True):
        mine = slice(rank * 8, rank * 8 + 8)
        loss = torch.nn.functional.mse_loss(parallel(x[mine].to(device)), y[mine].to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average = loss.detach().clone()
        distributed.all_reduce(average)
        losses.append(average.item() / WORLD)
    total = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).sum()
    gathered = [torch.empty_like(total) for _ in range(WORLD)]
    distributed.all_gather(gathered, total)
    if rank == 0:
        sums = [value.item() for value in gathered]
        Path(results).write_text(json.dumps({"losses": losses, "weights_agree": sums[0] == sums[1]}))
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        store, results = os.path.join(folder, "store"), os.path.join(folder, "results.json")
        torch.multiprocessing.spawn(train, (sys.argv[1], store, results), nprocs=WORLD)
        print(Path(results).read_text())
