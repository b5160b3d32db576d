"""First and second order extensions of backward: gradients of samples, variances, curvature; a second order step."""

import torch
from backpack import backpack, extend, extensions
from torch import nn


def run(device):
    out = {}
    torch.manual_seed(0)
    x, y = torch.randn(8, 1, 8, 8).to(device), torch.randint(0, 4, (8,)).to(device)
    model = extend(
        nn.Sequential(
            nn.Conv2d(1, 3, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(27, 8),
            nn.Sigmoid(),
            nn.Linear(8, 4),
        ).to(device)
    )
    loss_of = extend(nn.CrossEntropyLoss())
    kinds = [
        extensions.BatchGrad(),
        extensions.BatchL2Grad(),
        extensions.SumGradSquared(),
        extensions.Variance(),
        extensions.DiagGGNExact(),
        extensions.BatchDiagGGNExact(),
        extensions.KFLR(),
        extensions.DiagHessian(),
        extensions.SqrtGGNExact(),
    ]
    for kind in kinds:
        with backpack(kind):
            loss = loss_of(model(x), y)
            model.zero_grad()
            loss.backward()
        name = type(kind).__name__
        for i, p in enumerate(model.parameters()):
            found = getattr(p, kind.savefield)
            out[f"{name}{i}"] = torch.cat([v.flatten() for v in found]) if isinstance(found, list) else found
    with backpack(extensions.BatchGrad()):
        rnn = extend(nn.RNN(3, 4, batch_first=True).to(device))
        z, _ = rnn(torch.randn(2, 5, 3).to(device))
        z.pow(2).sum().backward()
    out["rnn"] = rnn.weight_hh_l0.grad_batch
    for _ in range(3):
        with backpack(extensions.DiagGGNExact()):
            loss = loss_of(model(x), y)
            model.zero_grad()
            loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(0.05 * p.grad / (p.diag_ggn_exact + 0.1))
    out["loss"] = loss
    return out
