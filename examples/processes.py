"""What the examples over several processes share: starting them, their options, and a training loop with progress."""

from __future__ import annotations

import argparse
import json
import os
import time

import common
import torch
import torch.distributed as dist
from char_gpt import Config


def parser(description: str | None, steps: int) -> argparse.ArgumentParser:
    """The options of the examples, with the size of the model."""
    made = common.parser(description, steps)
    made.add_argument("--batch", type=int, default=16, help="of all processes together")
    made.add_argument("--context", type=int, default=64)
    made.add_argument("--width", type=int, default=96)
    made.add_argument("--heads", type=int, default=4)
    made.add_argument("--layers", type=int, default=4)
    return made


def config_of(options: argparse.Namespace, characters: int) -> Config:
    return Config(characters, options.context, options.width, options.heads, options.layers)


def start(options: argparse.Namespace) -> torch.device:
    """Finds the other processes; gives the device of this one."""
    device = torch.device(options.device)
    if device.type != "cpu":
        device = torch.device(device.type, int(os.environ["LOCAL_RANK"]))
        torch.accelerator.set_device_index(device.index)
    dist.init_process_group(dist.get_default_backend_for_device(device))
    torch.manual_seed(options.seed)  # the same on all: they make one model and draw one batch
    return device


def part_of(batch):
    """This process's part of a batch."""
    return batch.chunk(dist.get_world_size())[dist.get_rank()]


def average(losses):
    """Of the losses that the processes have; those without give None."""
    device = next((loss.device for loss in losses if loss is not None), torch.device("cpu"))
    if dist.get_default_backend_for_device("cpu") != dist.get_backend():
        device = torch.device(torch.accelerator.current_accelerator().type)
    found = torch.zeros(2, len(losses), device=device)
    for number, loss in enumerate(losses):
        if loss is not None:
            found[0, number], found[1, number] = loss.detach(), 1.0
    dist.all_reduce(found)
    return (found[0] / found[1]).tolist()


def train(step, options: argparse.Namespace, every: int = 10) -> None:
    """Calls `step(number)`, which returns this process's loss or None; the first process shows how it falls."""
    shows = dist.get_rank() == 0
    tokens = options.batch * options.context
    bar, losses, started = common.Progress(options.steps), [], time.perf_counter()
    for number in range(options.steps):
        losses.append(step(number))
        if (number + 1) % every == 0 or number + 1 == options.steps:
            (loss,) = average(losses[-1:])
            speed = (number + 1) * tokens / (time.perf_counter() - started)
            if shows:
                bar.show(number + 1, f"loss {loss:.4f}  {speed:,.0f} tokens/s")
    seconds = time.perf_counter() - started
    values = average(losses)
    if shows:
        print(
            f"{dist.get_world_size()} processes on {options.device}: loss {values[0]:.4f} -> {values[-1]:.4f} in "
            f"{seconds:.1f} s, {options.steps * tokens / seconds:,.0f} tokens/s"
        )
        if options.losses:
            with open(options.losses, "w") as file:
                json.dump(values, file)
    dist.destroy_process_group()
