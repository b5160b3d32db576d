"""Flows of coupling, autoregressive and spline transforms; densities fitted, samples mapped back."""

import torch
from nflows import distributions, flows, transforms
from nflows.nn import nets
from nflows.transforms.autoregressive import (
    MaskedAffineAutoregressiveTransform,
    MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
)


def run(device):
    out = {}
    torch.manual_seed(0)
    x = torch.randn(64, 2)
    x[:, 1] += x[:, 0] ** 2
    x = x.to(device)

    def coupling(kind, **options):
        return kind(
            torch.tensor([1, 0]),
            lambda i, o: nets.ResidualNet(i, o, hidden_features=8, num_blocks=1),
            **options,
        )

    kinds = {
        "maf": lambda: MaskedAffineAutoregressiveTransform(features=2, hidden_features=8),
        "nsf": lambda: MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
            features=2, hidden_features=8, tails="linear", tail_bound=3.0, num_bins=4
        ),
        "affine": lambda: coupling(transforms.AffineCouplingTransform),
        "spline": lambda: coupling(
            transforms.PiecewiseRationalQuadraticCouplingTransform, tails="linear", tail_bound=3.0, num_bins=4
        ),
        "cubic": lambda: coupling(
            transforms.PiecewiseCubicCouplingTransform, tails="linear", tail_bound=3.0, num_bins=4
        ),
        "lu": lambda: transforms.LULinear(2),
        "svd": lambda: transforms.SVDLinear(2, num_householder=2),
        "actnorm": lambda: transforms.ActNorm(2),
    }
    for name, make in kinds.items():
        torch.manual_seed(1)
        parts = [transforms.ReversePermutation(2), make()]
        parts.append(transforms.BatchNorm(2) if name == "maf" else make())
        flow = flows.Flow(transforms.CompositeTransform(parts), distributions.StandardNormal([2])).to(device)
        optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
        losses = []
        for _ in range(4):
            loss = -flow.log_prob(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        out[name] = losses
        flow.eval()
        with torch.no_grad():
            z = flow.transform_to_noise(x[:8])
            out[f"{name}_back"] = flow._transform.inverse(z)[0]
    return out
