"""Functional optimizers, differentiable ones in an inner loop, implicit gradients, zero-order estimates."""

import torch
import torchopt
from torch import nn
from torch.func import functional_call, grad, vmap


def run(device):
    out = {}
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).to(device)
    x, y = torch.randn(16, 4).to(device), torch.randn(16, 1).to(device)
    parameters = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}

    def loss_of(p):
        return nn.functional.mse_loss(functional_call(net, p, (x,)), y)

    for name, kind in {
        "adam": torchopt.adam(1e-2),
        "sgd": torchopt.sgd(1e-2, momentum=0.9),
        "rmsprop": torchopt.rmsprop(1e-2),
        "adamw": torchopt.adamw(1e-2),
    }.items():
        p = dict(parameters)
        state = kind.init(p)
        found = []
        for _ in range(3):
            g = grad(loss_of)(p)
            updates, state = kind.update(g, state, params=p, inplace=False)
            p = torchopt.apply_updates(p, updates, inplace=False)
            found.append(loss_of(p).item())
        out[name] = found
    inner = torchopt.MetaSGD(net, lr=0.1)
    first = torchopt.extract_state_dict(net)
    for _ in range(2):
        inner.step(nn.functional.mse_loss(net(x), y))
    outer = nn.functional.mse_loss(net(x), y)
    outer.backward()
    torchopt.recover_state_dict(net, first)
    out["meta"] = outer
    optimizer = torchopt.Adam(net.parameters(), lr=1e-2)
    for _ in range(3):
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    out["last"] = loss

    @torchopt.diff.implicit.custom_root(
        grad(lambda w, lam: ((x @ w - y) ** 2).mean() + lam * (w**2).sum(), argnums=0), argnums=1
    )
    def ridge(w, lam):
        return torch.linalg.solve(x.T @ x / len(x) + lam * torch.eye(4).to(device), x.T @ y / len(x))

    lam = torch.tensor(0.3).to(device).requires_grad_()
    w = ridge(torch.zeros(4, 1).to(device), lam)
    w.sum().backward()
    out["implicit"], out["implicit_grad"] = w, lam.grad
    out["vmapped"] = vmap(lambda a: a.sin().sum())(x)
    return out
