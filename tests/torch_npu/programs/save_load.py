"""Trains, saves, trains on; then loads what was saved and trains the same steps again. Prints both losses.

python save_load.py DEVICE FOLDER
"""

import json
import sys
from pathlib import Path

import torch

device, path = sys.argv[1], Path(sys.argv[2]) / f"{sys.argv[1]}.pt"

torch.manual_seed(0)
inputs, targets = torch.randn(10, 8, 6).to(device), torch.randn(10, 8, 2).to(device)


def build() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)).to(device)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: range) -> list[float]:
    losses = []
    for step in steps:
        loss = torch.nn.functional.smooth_l1_loss(model(inputs[step]), targets[step])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


model, optimizer = build()
train(model, optimizer, range(0, 5))
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "inputs": inputs}, path)
going_on = train(model, optimizer, range(5, 10))

model, optimizer = build()
saved = torch.load(path, map_location=device)
model.load_state_dict(saved["model"])
optimizer.load_state_dict(saved["optimizer"])
after_loading = train(model, optimizer, range(5, 10))

on_cpu = torch.load(path, map_location="cpu")
print(
    json.dumps(
        {
            "losses": going_on,
            "after_loading": after_loading,
            "devices": sorted({value.device.type for value in saved["model"].values()}),
            "inputs_equal": torch.equal(on_cpu["inputs"], inputs.cpu()),
        }
    )
)
