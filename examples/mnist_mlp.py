"""Trains a small network on drawn digits, then records where its time and memory go.

    MINDTORCH_NPU=soft python examples/mnist_mlp.py            on the software NPU
    python examples/mnist_mlp.py --device cpu
    python examples/mnist_mlp.py --module torch --device cpu   the same program on PyTorch; the same losses

The data is drawn here (glyphs, shifted and with noise), so nothing is downloaded.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

import numpy as np

GLYPHS = """
.###. ..#.. .###. #####  ...#. #####  ..##. ##### .###. .###.
#...# .##.. #...# ....#  ..##. #....  .#... ....# #...# #...#
#..## ..#.. ....# ...#.  .#.#. ####.  #.... ...#. #...# #...#
#.#.# ..#.. ...#. ..##.  #..#. ....#  ####. ..#.. .###. .####
##..# ..#.. ..#.. ....#  ##### ....#  #...# .#... #...# ....#
#...# ..#.. .#... #...#  ...#. #...#  #...# .#... #...# ...#.
.###. .###. ##### .###.  ...#. .###.  .###. .#... .###. .##..
"""


def draw_digits(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """``count`` images of 28 x 28 (as rows of 784 numbers) and the digits on them."""
    rows = [line.split() for line in GLYPHS.strip().splitlines()]
    glyphs = [
        np.array([[cell == "#" for cell in row[digit]] for row in rows], np.float32) for digit in range(10)
    ]
    random = np.random.default_rng(seed)
    labels = random.integers(0, 10, count)
    images = np.zeros((count, 28, 28), np.float32)
    for image, label in zip(images, labels, strict=True):
        glyph = np.kron(glyphs[label], np.ones((3, 3), np.float32))
        height, width = glyph.shape
        top = (28 - height) // 2 + int(random.integers(-2, 3))
        left = (28 - width) // 2 + int(random.integers(-2, 3))
        image[top : top + height, left : left + width] = glyph * random.uniform(0.6, 1.0)
    images += random.normal(0.0, 0.2, images.shape).astype(np.float32)
    return images.reshape(count, 784), labels.astype(np.int64)


class Progress:
    """A bar on standard error; on a pipe, nothing until the end."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.started = time.perf_counter()
        self.live = sys.stderr.isatty()

    def show(self, done: int, text: str) -> None:
        finished = done == self.total
        if not (self.live or finished):
            return
        filled = 30 * done // self.total
        rate = done / (time.perf_counter() - self.started)
        bar = "=" * filled + " " * (30 - filled)
        start, end = ("\r", "\n" if finished else "") if self.live else ("", "\n")
        print(
            f"{start}[{bar}] step {done}/{self.total}  {text}  {rate:.0f} steps/s",
            end=end,
            file=sys.stderr,
            flush=True,
        )


class Trainer:
    """The model, its optimizer and one step; written for ``torch``, whichever module that is."""

    def __init__(self, torch, device: str, optimizer: str = "adam", seed: int = 0) -> None:
        self.torch = torch
        self.device = device
        torch.manual_seed(seed)
        nn = torch.nn
        # Made on the CPU and then moved, so that every device starts from the same numbers.
        self.model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
        if optimizer == "adam":
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        else:
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)

    def tensors(self, images: np.ndarray, labels: np.ndarray):
        torch = self.torch
        return torch.from_numpy(images).to(self.device), torch.from_numpy(labels).to(self.device)

    def step(self, images, labels):
        """Returns the loss on the device: reading its value would make the host wait."""
        self.optimizer.zero_grad()
        loss = self.torch.nn.functional.cross_entropy(self.model(images), labels)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def train(
        self, images: np.ndarray, labels: np.ndarray, epochs: int, batch: int = 64, progress=None
    ) -> list[float]:
        """The loss of every step."""
        shuffle = np.random.default_rng(1)
        per_epoch = len(images) // batch
        bar = Progress(epochs * per_epoch) if progress else None
        losses = []
        self.model.train()
        for _ in range(epochs):
            order = shuffle.permutation(len(images))
            for start in range(0, per_epoch * batch, batch):
                chosen = order[start : start + batch]
                losses.append(self.step(*self.tensors(images[chosen], labels[chosen])))
                if bar and len(losses) % 10 == 0 or bar and len(losses) == bar.total:
                    bar.show(len(losses), f"loss {losses[-1].item():.4f}")
        return [loss.item() for loss in losses]

    def accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        self.model.eval()
        with self.torch.no_grad():
            inputs, targets = self.tensors(images, labels)
            return (self.model(inputs).argmax(1) == targets).sum().item() / len(labels)


def record(trainer: Trainer, images: np.ndarray, labels: np.ndarray, folder: Path) -> list[tuple[Path, str]]:
    """A profile of a few steps, and on a device the state of its memory; each file with how to open it."""
    torch = trainer.torch
    folder.mkdir(parents=True, exist_ok=True)
    inputs, targets = trainer.tensors(images[:64], labels[:64])
    memory = getattr(torch, trainer.device.split(":")[0], None) if trainer.device != "cpu" else None
    if memory is not None:
        memory._record_memory_history(max_entries=10_000)
    trace = folder / "trace.json"
    with torch.profiler.profile(profile_memory=True) as profile:
        for number in range(5):
            with torch.profiler.record_function(f"training step {number}"):
                trainer.step(inputs, targets)
    profile.export_chrome_trace(str(trace))
    table = folder / "profile.txt"
    order = "self_cpu_time_total" if memory is None else "self_device_time_total"
    table.write_text(profile.key_averages().table(sort_by=order, row_limit=15))
    written = [
        (trace, "open it in https://ui.perfetto.dev or chrome://tracing"),
        (table, "where the time went"),
    ]
    if memory is not None:
        snapshot = folder / "memory_snapshot.pickle"
        memory._dump_snapshot(str(snapshot))
        memory._record_memory_history(enabled=None)
        written.append((snapshot, "drop it on https://pytorch.org/memory_viz"))
    return written


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--module", default="mindtorch_v2", help="mindtorch_v2 or torch")
    parser.add_argument("--device", default="npu")
    parser.add_argument("--optimizer", choices=["adam", "sgd"], default="adam")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--images", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("demo_out"))
    options = parser.parse_args()

    torch = importlib.import_module(options.module)
    images, labels = draw_digits(options.images, seed=options.seed)
    test_images, test_labels = draw_digits(1000, seed=options.seed + 1)
    trainer = Trainer(torch, options.device, options.optimizer, options.seed)
    print(
        f"{options.module} on {options.device}: {len(images)} digits, {options.epochs} epochs of "
        f"{options.optimizer}"
    )
    start = time.perf_counter()
    losses = trainer.train(images, labels, options.epochs, progress=True)
    seconds = time.perf_counter() - start
    accuracy = trainer.accuracy(test_images, test_labels)
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} in {len(losses)} steps and {seconds:.1f} s")
    print(f"accuracy on 1000 new digits: {accuracy:.1%}")
    for path, how in record(trainer, images, labels, options.out):
        print(f"wrote {path} ({path.stat().st_size / 1024:.0f} KiB): {how}")
    if accuracy < 0.95:
        sys.exit(f"the network did not learn: accuracy {accuracy:.1%}, expected at least 95 %")


if __name__ == "__main__":
    main()
