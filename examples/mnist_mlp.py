"""A small network learns drawn digits.

    mindtorch run --npu soft examples/mnist_mlp.py     on the software NPU
    python examples/mnist_mlp.py                       the same program on PyTorch; the same losses on the CPU

The data is drawn here (glyphs, shifted and with noise), so nothing is downloaded.
"""

from __future__ import annotations

import sys

import common
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

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


def main() -> None:
    parser = common.parser(__doc__, steps=400)
    parser.add_argument("--optimizer", choices=["adam", "sgd"], default="adam")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    # Made on the CPU and then moved, so that every device starts from the same numbers.
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)).to(options.device)
    if options.optimizer == "adam":
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    random = np.random.default_rng(1)
    images, labels = draw_digits(6000, options.seed)

    def step(_):
        chosen = random.integers(0, len(images), 64)
        inputs = torch.from_numpy(images[chosen]).to(options.device)
        targets = torch.from_numpy(labels[chosen]).to(options.device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss.detach()

    common.train(step, options)
    new_images, new_labels = draw_digits(1000, options.seed + 1)
    with torch.no_grad():
        answers = model(torch.from_numpy(new_images).to(options.device)).argmax(1).cpu()
    accuracy = (answers == torch.from_numpy(new_labels)).float().mean().item()
    print(f"accuracy on 1000 new digits: {accuracy:.1%}")
    if options.steps >= 400 and accuracy < 0.95:
        sys.exit(f"the network did not learn: accuracy {accuracy:.1%}, expected at least 95 %")


if __name__ == "__main__":
    main()
