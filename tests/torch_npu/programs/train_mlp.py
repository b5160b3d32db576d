"""Trains a small network on batches of made-up numbers and prints the loss of every step.

python train_mlp.py DEVICE OPTIMIZER
"""

import json
import sys

import torch

device, optimizer_name = sys.argv[1], sys.argv[2]

torch.manual_seed(0)
inputs, weights = torch.randn(20, 32, 16), torch.randn(16, 4)
targets = torch.tanh(inputs @ weights)
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)).to(device)
inputs, targets = inputs.to(device), targets.to(device)

optimizers = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3),
    "Adam": lambda p: torch.optim.Adam(p, lr=1e-2),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=1e-2),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=1e-3, momentum=0.5),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=1e-2),
}
optimizer = optimizers[optimizer_name](model.parameters())
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)

losses = []
for x, y in zip(inputs, targets, strict=True):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
print(json.dumps({"losses": losses}))
