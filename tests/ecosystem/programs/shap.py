"""Shapley values of a classifier and of a small convolutional network, by DeepLIFT and by expected gradients"""

import shap
import torch
from torch import nn


def run(device):
    out = {}
    torch.manual_seed(0)
    table = torch.randn(24, 6).to(device)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3)).to(
        device
    )
    deep = shap.DeepExplainer(model, table[:16])
    out["deep"] = deep.shap_values(table[16:])
    out["expected"] = deep.expected_value
    out["gradients"] = shap.GradientExplainer(model, table[:16]).shap_values(
        table[16:20], nsamples=30, rseed=0
    )

    pictures = torch.randn(8, 1, 12, 12).to(device)
    network = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(54, 2),
    ).to(device)
    out["pictures"] = shap.DeepExplainer(network, pictures[:6]).shap_values(pictures[6:])
    out["layer"] = shap.GradientExplainer((network, network[3]), pictures[:6]).shap_values(
        pictures[6:], nsamples=10, rseed=0
    )
    return out
