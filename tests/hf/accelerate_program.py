"""A training loop with Accelerate, as ``accelerate launch`` starts it: writes the losses of its steps to a file."""

import json
import sys
from pathlib import Path

import torch
from accelerate import Accelerator, DataLoaderConfiguration
from tiny_models import Sequences, build


def main(file: str) -> None:
    accelerator = Accelerator(
        dataloader_config=DataLoaderConfiguration(split_batches=True), gradient_accumulation_steps=2
    )
    model = build("llama").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = torch.utils.data.DataLoader(Sequences(), batch_size=4)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 8)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    losses, norms = [], []
    for inputs in loader:
        with accelerator.accumulate(model):
            loss = model(**inputs).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                norms.append(float(accelerator.clip_grad_norm_(model.parameters(), 1.0)))
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(float(accelerator.reduce(loss.detach(), "mean")))
    state = accelerator.get_state_dict(model)
    if accelerator.is_main_process:
        found = {
            "losses": losses, "norms": norms, "processes": accelerator.num_processes,
            "device": accelerator.device.type, "kind": str(accelerator.distributed_type),
            "wrapped": type(model).__name__,
            "weights": {name: float(value.double().norm()) for name, value in state.items()},
        }  # fmt: skip
        Path(file).write_text(json.dumps(found))
    accelerator.end_training()


if __name__ == "__main__":
    main(*sys.argv[1:])
