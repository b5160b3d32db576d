"""Differentiable inner loops: MAML's two levels through SGD and Adam, a learned step size."""

import higher
import torch
from torch import nn


def run(device):
    out = {}
    for name, kind in {
        "sgd": torch.optim.SGD,
        "adam": torch.optim.Adam,
        "rmsprop": torch.optim.RMSprop,
        "adagrad": torch.optim.Adagrad,
    }.items():
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Linear(4, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.Tanh(), nn.Linear(8, 1)
        ).to(device)
        meta = torch.optim.Adam(net.parameters(), lr=1e-2)
        inner = kind(net.parameters(), lr=0.05)
        losses = []
        for _ in range(3):
            meta.zero_grad()
            for _ in range(2):
                x, y = torch.randn(10, 4).to(device), torch.randn(10, 1).to(device)
                with higher.innerloop_ctx(net, inner, copy_initial_weights=False) as (fast, step):
                    for _ in range(2):
                        step.step(nn.functional.mse_loss(fast(x), y))
                    loss = nn.functional.mse_loss(fast(x), y)
                    loss.backward()
            meta.step()
            losses.append(loss.item())
        out[name] = losses
    rate = torch.tensor(0.1, requires_grad=True)
    net = nn.LSTM(3, 4).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer_kwargs = {"lr": [rate.to(device)]}
    with higher.innerloop_ctx(net, optimizer, override=optimizer_kwargs) as (fast, step):
        x = torch.randn(5, 2, 3).to(device)
        step.step(fast(x)[0].pow(2).mean())
        fast(x)[0].pow(2).mean().backward()
    out["rate"] = rate.grad
    return out
