"""The optimizer Lion, plain and with its variants, beside an average of weights."""

import torch
from lion_pytorch import Lion
from torch import nn


def run(device):
    out = {}
    for name, options in {
        "plain": {},
        "decoupled": {"decoupled_weight_decay": True, "weight_decay": 0.1},
    }.items():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 1)).to(device)
        x, y = torch.randn(32, 6).to(device), torch.randn(32, 1).to(device)
        optimizer = Lion(model.parameters(), lr=1e-3, **options)
        losses = []
        for _ in range(6):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        out[name] = losses
        out[f"{name}_state"] = optimizer.state_dict()["state"][0]["exp_avg"]
    return out
