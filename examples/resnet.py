"""A small ResNet learns to tell shapes apart, in pictures of CIFAR's size.

    mindtorch run --npu soft examples/resnet.py     on the software NPU
    python examples/resnet.py                       the same program on PyTorch

The pictures (discs, squares, crosses and stripes, in any colour and place) are drawn here; nothing is downloaded.
"""

from __future__ import annotations

import common
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

SHAPES = ("disc", "square", "cross", "stripes")


def draw_shapes(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures of 3 x 32 x 32 and which of SHAPES is on each."""
    random = np.random.default_rng(seed)
    down, along = np.mgrid[0:32, 0:32]
    pictures = random.normal(0.0, 0.3, (count, 3, 32, 32)).astype(np.float32)
    labels = random.integers(0, len(SHAPES), count)
    for picture, label in zip(pictures, labels, strict=True):
        y, x = down - random.integers(10, 22), along - random.integers(10, 22)
        size = random.integers(5, 9)
        inside = np.maximum(abs(y), abs(x)) <= size
        mask = {
            "disc": y**2 + x**2 <= size**2,
            "square": inside,
            "cross": inside & ((abs(y) <= 1) | (abs(x) <= 1)),
            "stripes": inside & (y % 4 < 2),
        }[SHAPES[label]]
        picture += mask * random.uniform(0.5, 1.5, (3, 1, 1)).astype(np.float32)
    return pictures, labels.astype(np.int64)


class Residual(nn.Module):
    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


def small_resnet(classes: int, width: int = 8) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.MaxPool2d(2),
        Residual(width, width, 1),
        Residual(width, 2 * width, 2),
        Residual(2 * width, 4 * width, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, classes),
    )


def main() -> None:
    options = common.parser(__doc__, steps=150).parse_args()
    torch.manual_seed(options.seed)
    model = small_resnet(len(SHAPES)).to(options.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    pictures, labels = (torch.from_numpy(array) for array in draw_shapes(1024, options.seed))

    def step(number):
        chosen = slice(32 * number % len(labels), 32 * number % len(labels) + 32)
        inputs, targets = pictures[chosen].to(options.device), labels[chosen].to(options.device)
        loss = F.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.detach()

    common.train(step, options)
    new_pictures, new_labels = draw_shapes(256, options.seed + 1)
    model.eval()
    with torch.no_grad():
        answers = model(torch.from_numpy(new_pictures).to(options.device)).argmax(1).cpu().numpy()
    print(f"right on {(answers == new_labels).mean():.1%} of 256 new pictures")


if __name__ == "__main__":
    main()
