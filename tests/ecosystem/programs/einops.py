"""Tensors rearranged, reduced, repeated and packed, einsum with names; a mixer of such layers is trained."""

import torch
from einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.cut = Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
        self.embed = nn.Linear(48, 24)
        self.tokens = EinMix("b t c -> b t1 c", weight_shape="t t1", bias_shape="t1", t=16, t1=16)
        self.channels = EinMix(
            "b t (g c) -> b t (g c1)", weight_shape="g c c1", bias_shape="g c1", g=2, c=12, c1=12
        )
        self.pool = Reduce("b t c -> b c", "mean")
        self.head = nn.Linear(24, 5)

    def forward(self, x):
        x = self.embed(self.cut(x))
        x = x + self.tokens(x).relu()
        x = x + self.channels(x).tanh()
        return self.head(self.pool(x))


def run(device):
    torch.manual_seed(0)
    model = Mixer().to(device)
    x, y = torch.randn(8, 3, 16, 16).to(device), torch.randint(0, 5, (8,)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(8):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    packed, shapes = pack([x, torch.ones(8, 3, 5).to(device)], "b c *")
    back = unpack(packed, shapes, "b c *")
    q, k = torch.randn(2, 4, 7, 8).to(device), torch.randn(2, 4, 9, 8).to(device)
    scripted = torch.jit.script(
        nn.Sequential(Rearrange("b c h w -> b (c h w)"), nn.Linear(768, 2)).to(device)
    )
    return {
        "losses": losses,
        "einsum": einsum(q, k, "b h i d, b h j d -> b h i j"),
        "max": reduce(x, "b c (h a) (w d) -> b c h w", "max", a=2, d=2),
        "prod": reduce(x[:, :, :2, :2], "b c h w -> b c", "prod"),
        "repeat": repeat(x[0, 0], "h w -> (h a) w b", a=2, b=3),
        "shape": list(parse_shape(x, "b c h w").values()),
        "list": rearrange([x[0], x[1]], "n c h w -> h (n w) c"),
        "pack": packed.sum(-1),
        "unpack": back[0].mean((1, 2, 3)),
        "scripted": scripted(x).shape,
    }
