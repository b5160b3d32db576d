"""Operators between functions: Fourier operators, dense and in factors, a U-shaped one, losses of derivatives."""

import torch
from neuralop.losses import H1Loss, LpLoss
from neuralop.models import FNO, TFNO, UNO


def run(device):
    torch.manual_seed(0)
    x, y = torch.randn(2, 1, 16, 16).to(device), torch.randn(2, 1, 16, 16).to(device)
    made = {
        "fno": lambda: FNO(n_modes=(6, 6), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2),
        "tfno": lambda: TFNO(
            n_modes=(6, 6), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2, rank=0.5
        ),
        "uno": lambda: UNO(
            1,
            1,
            hidden_channels=8,
            uno_out_channels=[8, 8, 8],
            uno_n_modes=[[4, 4]] * 3,
            uno_scalings=[[1, 1], [0.5, 0.5], [2, 2]],
            n_layers=3,
            channel_mlp_skip="linear",
        ),
    }
    out = {}
    for name, make in made.items():
        torch.manual_seed(1)
        model = make().to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        values = []
        for _ in range(3):
            found = model(x)
            loss = LpLoss(d=2)(found, y) + H1Loss(d=2)(found, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            values.append(loss.item())
        out[name] = values
        out[f"{name}_finer"] = model.eval()(torch.linspace(0, 1, 576).view(1, 1, 24, 24).to(device))
    return out
