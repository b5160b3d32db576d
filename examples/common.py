"""What the examples share: choosing a device and showing progress."""

from __future__ import annotations

import argparse
import json
import sys
import time

import torch


def parser(description: str | None, steps: int) -> argparse.ArgumentParser:
    """The options that every example has."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--device", default=best_device(), help="default: the accelerator, if there is one")
    made.add_argument("--steps", type=int, default=steps)
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--losses", metavar="FILE", help="write the loss of every step there, as JSON")
    return made


def best_device() -> str:
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return accelerator.type if accelerator else "cpu"


class Progress:
    """A bar on standard error; without a terminal, a line every few seconds."""

    SECONDS_BETWEEN_LINES = 5.0

    def __init__(self, total: int) -> None:
        self.total = total
        self.started = time.perf_counter()
        self.live = sys.stderr.isatty()
        self.next_line = self.started

    def show(self, done: int, text: str) -> None:
        finished, now = done == self.total, time.perf_counter()
        if not (self.live or finished or now >= self.next_line):
            return
        self.next_line = now + self.SECONDS_BETWEEN_LINES
        filled = 30 * done // self.total
        rate = done / (now - self.started)
        bar = "=" * filled + " " * (30 - filled)
        start, end = ("\r", "\n" if finished else "") if self.live else ("", "\n")
        line = f"{start}[{bar}] step {done}/{self.total}  {text}  {rate:.1f} steps/s"
        print(line, end=end, file=sys.stderr, flush=True)


def train(step, options: argparse.Namespace, every: int = 10) -> list[float]:
    """Calls `step(number)`, which returns a loss on the device, and shows how it falls.

    The losses are read only now and then: reading one makes the host wait for the device.
    """
    started = time.perf_counter()
    bar, losses = Progress(options.steps), []
    for number in range(options.steps):
        losses.append(step(number))
        if (number + 1) % every == 0 or number + 1 == options.steps:
            bar.show(number + 1, f"loss {losses[-1].item():.4f}")
    values = [loss.item() for loss in losses]
    seconds = time.perf_counter() - started
    print(f"{options.device}: loss {values[0]:.4f} -> {values[-1]:.4f} in {seconds:.1f} s")
    if options.losses:
        with open(options.losses, "w") as file:
            json.dump(values, file)
    return values
