"""Several losses at once: the rows of their Jacobian are combined instead of summed."""

import torch
from torch import nn
from torchjd.aggregation import (
    IMTLG,
    MGDA,
    AlignedMTL,
    Krum,
    Mean,
    PCGrad,
    Sum,
    TrimmedMean,
    UPGrad,
    UPGradWeighting,
)
from torchjd.autogram import Engine
from torchjd.autojac import backward, jac, jac_to_grad, mtl_backward


def run(device):
    torch.manual_seed(0)
    x, goal_one, goal_two = (
        torch.randn(16, 8).to(device),
        torch.randn(16, 1).to(device),
        torch.randn(16, 1).to(device),
    )
    shared = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)).to(device)
    one, two = nn.Linear(8, 1).to(device), nn.Linear(8, 1).to(device)
    optimizer = torch.optim.SGD([*shared.parameters(), *one.parameters(), *two.parameters()], lr=0.05)
    aggregator = UPGrad()
    losses = []
    for _ in range(5):
        features = shared(x)
        first, second = (
            nn.functional.mse_loss(one(features), goal_one),
            nn.functional.l1_loss(two(features), goal_two),
        )
        optimizer.zero_grad()
        mtl_backward([first, second], features=features)
        jac_to_grad(shared.parameters(), aggregator)
        optimizer.step()
        losses += [first.item(), second.item()]

    model = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 1)).to(device)
    each = nn.functional.mse_loss(model(x), goal_one, reduction="none").squeeze(-1)
    backward(each, parallel_chunk_size=None)
    jac_to_grad(model.parameters(), Mean())
    whole = [p.grad.clone() for p in model.parameters()]
    each = nn.functional.mse_loss(model(x), goal_one, reduction="none").squeeze(-1)
    jacobian = torch.cat(
        [j.flatten(1) for j in jac(each, list(model.parameters()), parallel_chunk_size=1)], 1
    )
    combined = torch.stack(
        [
            kind(jacobian)
            for kind in (
                UPGrad(),
                MGDA(),
                IMTLG(),
                AlignedMTL(),
                Sum(),
                Krum(2, 4),
                TrimmedMean(2),
            )
        ]
    )
    torch.manual_seed(1)
    surgery = PCGrad()(jacobian[:3].cpu())

    engine = Engine(model, batch_dim=0)
    weighting = UPGradWeighting()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    instances = []
    for _ in range(3):
        each = nn.functional.mse_loss(model(x), goal_one, reduction="none").squeeze(-1)
        optimizer.zero_grad()
        gramian = engine.compute_gramian(each)
        each.backward(weighting(gramian))
        optimizer.step()
        instances.append(each.mean().item())
    return {
        "losses": losses,
        "jacobian": jacobian,
        "mean": whole[0],
        "combined": combined,
        "surgery": surgery,
        "gramian": gramian,
        "instances": instances,
    }
