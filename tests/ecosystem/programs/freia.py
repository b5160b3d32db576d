"""Invertible networks: six kinds of coupling blocks, a graph of convolutions with a condition, densities fitted"""

import FrEIA.framework as graph
import FrEIA.modules as blocks
import numpy as np
import torch
from torch import nn

COUPLINGS = (
    blocks.NICECouplingBlock,
    blocks.RNVPCouplingBlock,
    blocks.GLOWCouplingBlock,
    blocks.GINCouplingBlock,
    blocks.AffineCouplingOneSided,
    blocks.AllInOneBlock,
)


def dense(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 16), nn.ReLU(), nn.Linear(16, outputs))


def convolutions(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, outputs, 3, padding=1))


def run(device):
    out = {}
    torch.manual_seed(0)
    points = torch.randn(16, 4).to(device)
    for block in COUPLINGS:
        torch.manual_seed(1)
        np.random.seed(1)
        network = graph.SequenceINN(4)
        for _ in range(3):
            network.append(block, subnet_constructor=dense)
        network.to(device)
        latent, volume = network(points)
        (latent.square().mean() - torch.as_tensor(volume, dtype=torch.float32).mean()).backward()
        out[block.__name__] = latent
        out[f"{block.__name__}_volume"] = volume
        out[f"{block.__name__}_grads"] = [
            p.grad.norm().item() for p in network.parameters() if p.grad is not None
        ]
        out[f"{block.__name__}_inverse"] = network(latent, rev=True)[0]

    torch.manual_seed(2)
    condition = graph.ConditionNode(2, 4, 4)
    nodes = [graph.InputNode(1, 8, 8)]
    nodes.append(graph.Node(nodes[-1], blocks.HaarDownsampling, {}))
    for seed in range(2):
        options = {"subnet_constructor": convolutions}
        nodes.append(graph.Node(nodes[-1], blocks.GLOWCouplingBlock, options, conditions=condition))
        nodes.append(graph.Node(nodes[-1], blocks.PermuteRandom, {"seed": seed}))
    nodes.append(graph.Node(nodes[-1], blocks.Flatten, {}))
    network = graph.GraphINN([*nodes, condition, graph.OutputNode(nodes[-1])]).to(device)
    pictures, given = torch.randn(6, 1, 8, 8).to(device), torch.randn(6, 2, 4, 4).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        latent, volume = network(pictures, c=given)
        loss = latent.square().sum(1).mean() / 2 - volume.mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    out["losses"] = losses
    out["pictures"] = network(latent.detach(), c=given, rev=True)[0]
    return out
