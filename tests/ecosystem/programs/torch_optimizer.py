"""A model fitted with each of twenty optimizers."""

import torch
import torch_optimizer
from torch import nn


def run(device):
    out = {}
    names = [
    "AccSGD", "AdaBound", "AdaMod", "AdamP", "AggMo", "DiffGrad", "Lamb", "NovoGrad", "PID", "QHAdam", "QHM",
    "RAdam", "SGDP", "SGDW", "SWATS", "Shampoo", "Yogi", "Adafactor", "MADGRAD", "AdaBelief", "Apollo",
    "LARS", "A2GradUni", "A2GradExp", "A2GradInc", "Adahessian", "Ranger", "RangerQH", "RangerVA",
]  # fmt: skip
    for name in names:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1)).to(device)
        x, y = torch.randn(32, 6).to(device), torch.randn(32, 1).to(device)
        kind = getattr(torch_optimizer, name)
        optimizer = kind(model.parameters(), lr=1e-3) if "A2Grad" not in name else kind(model.parameters())
        losses = []
        torch.manual_seed(1)
        for _ in range(4):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward(create_graph=name == "Adahessian")
            if name == "Adahessian":
                optimizer.set_hessian = getattr(optimizer, "set_hessian", None)
            optimizer.step()
            losses.append(loss.item())
        out[name] = losses
    torch.manual_seed(0)
    model = nn.Linear(3, 1).to(device)
    look = torch_optimizer.Lookahead(torch_optimizer.Yogi(model.parameters(), lr=0.1), k=2, alpha=0.5)
    for _ in range(5):
        loss = model(torch.ones(2, 3).to(device)).pow(2).mean()
        look.zero_grad()
        loss.backward()
        look.step()
    out["look"] = loss
    if device != "cpu":
        pass
    return out
