"""A classifier trained by Accelerator: accumulation, clipping, schedule, gathered metrics, saved and resumed state."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make(device: str):
    set_seed(3)
    model = nn.Sequential(nn.Linear(12, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4))
    features = torch.randn(96, 12)
    labels = (features @ torch.randn(12, 4)).argmax(-1)
    loader = DataLoader(TensorDataset(features, labels), batch_size=8, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
    accelerator = Accelerator(cpu=device == "cpu", gradient_accumulation_steps=2)
    return accelerator, accelerator.prepare(model, optimizer, loader, schedule)


def epoch(accelerator, model, optimizer, loader, schedule) -> list[float]:
    losses = []
    for features, labels in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(features), labels)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            losses.append(accelerator.gather(loss).mean().item())
    return losses


def run(device: str):
    accelerator, parts = make(device)
    assert accelerator.device.type == device, accelerator.device
    first = epoch(accelerator, *parts)
    accelerator.save_state("state")
    second = epoch(accelerator, *parts)
    accelerator.load_state("state")
    resumed = epoch(accelerator, *parts)
    model, _, loader, schedule = parts
    model.eval()
    right = []
    with torch.no_grad():
        for features, labels in loader:
            predictions, labels = accelerator.gather_for_metrics((model(features).argmax(-1), labels))
            right.append((predictions == labels).float().mean().item())
    weights = accelerator.unwrap_model(model).state_dict()
    return {
        "first": first,
        "second": second,
        "resumed": resumed,
        "accuracy": sum(right) / len(right),
        "rate": schedule.get_last_lr(),
        "weight": weights["0.weight"],
    }
