"""Spiking layers as differential equations: integrate-and-fire and adaptive neurons, with states in sequences."""

import norse.torch as norse
import torch
from torch import nn


def run(device):
    out = {}
    torch.manual_seed(0)
    model = norse.SequentialState(nn.Linear(10, 20), norse.LIFCell(), nn.Linear(20, 3), norse.LICell()).to(
        device
    )
    x = (torch.rand(12, 4, 10) * 10).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        state, found = None, []
        for step in x:
            value, state = model(step, state)
            found.append(value)
        loss = torch.stack(found).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    out["losses"] = losses
    out["fired"] = norse.LIF().to(device)(x)[0]
    out["recurrent"] = norse.LSNNRecurrent(10, 5).to(device)(x)[0]
    out["encoded"] = norse.ConstantCurrentLIFEncoder(10)(x[0])
    return out
