"""Neural differential equations: adaptive and fixed solvers, adjoint gradients, an event, a fit of a spiral."""

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


class Falling(nn.Module):
    def __init__(self):
        super().__init__()
        self.gravity = nn.Parameter(torch.tensor([9.8]))

    def forward(self, t, state):
        _, speed = state
        return speed, -self.gravity.expand_as(speed)


def run(device):
    out = {}
    torch.manual_seed(0)
    field = Field().to(device)
    start, times = torch.randn(5, 2).to(device), torch.linspace(0, 1, 6).to(device)
    for method in ("dopri5", "dopri8", "bosh3", "adaptive_heun", "rk4", "midpoint", "implicit_adams"):
        for solve in (odeint, odeint_adjoint):
            field.zero_grad()
            path = solve(field, start, times, method=method, rtol=1e-5, atol=1e-6)
            path.square().mean().backward()
            out[f"{method}_{solve.__name__}"] = path
            out[f"{method}_{solve.__name__}_grad"] = field.net[0].weight.grad.clone()

    falling = Falling().to(device)
    state = (torch.tensor([10.0]).to(device), torch.tensor([0.0]).to(device))
    landed, _ = odeint_event(
        falling, state, torch.tensor(0.0).to(device), event_fn=lambda t, s: s[0], odeint_interface=odeint
    )
    landed.backward()
    out["landed"], out["landed_grad"] = landed, falling.gravity.grad

    turning = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]]).to(device)
    times = torch.linspace(0, 2, 20).to(device)
    with torch.no_grad():
        spiral = odeint(lambda t, y: y**3 @ turning, torch.tensor([[2.0, 0.0]]).to(device), times)
    optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-3)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (odeint(field, spiral[0], times) - spiral).abs().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    out["losses"] = losses
    return out
