"""Programs whose peak of memory is estimated and measured: by this package on `meta`, on an NPU and on the CPU, and by
PyTorch on a GPU. ``build`` takes the module that is called torch, a scale and a batch, and gives a model whose
forward returns the loss, and a tuple of its inputs, on the default device."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

SCALES = ("small", "large")  # for tests, and for a GPU
STEPS = 3


@dataclass(frozen=True)
class Program:
    """A model, and how it is trained."""

    model: str
    optimizer: str
    checkpointing: bool
    autocast: bool

    @property
    def name(self) -> str:
        extra = [
            word for word, on in (("checkpointing", self.checkpointing), ("autocast", self.autocast)) if on
        ]
        return " ".join([self.model, self.optimizer, *extra])


def _classes(torch: Any) -> Any:
    """The parts of the models, made once for each module that is called torch."""
    nn, functional = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.linear = nn.Linear(size, size)

        def forward(self, x: Any) -> Any:
            return functional.gelu(self.linear(x))

    class MLP(nn.Module):
        def __init__(self, size: int, depth: int) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(Layer(size) for _ in range(depth))
            self.head = nn.Linear(size, 10)

        def forward(self, x: Any, targets: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return functional.cross_entropy(self.head(x), targets)

    class Residual(nn.Module):
        """Three convolutions beside the stream."""

        def __init__(self, inside: int, width: int, stride: int) -> None:
            super().__init__()
            outside = 4 * width
            self.first = nn.Conv2d(inside, width, 1, bias=False)
            self.second = nn.Conv2d(width, width, 3, stride, 1, bias=False)
            self.third = nn.Conv2d(width, outside, 1, bias=False)
            self.norms = nn.ModuleList(nn.BatchNorm2d(size) for size in (width, width, outside))
            self.relu = nn.ReLU(inplace=True)
            self.beside = None
            if stride > 1 or inside != outside:
                self.beside = nn.Sequential(
                    nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside)
                )

        def forward(self, x: Any) -> Any:
            y = self.relu(self.norms[0](self.first(x)))
            y = self.relu(self.norms[1](self.second(y)))
            y = self.norms[2](self.third(y))
            return self.relu(y + (x if self.beside is None else self.beside(x)))

    class ResNet(nn.Module):
        def __init__(self, depths: tuple[int, ...], width: int) -> None:
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                nn.MaxPool2d(3, 2, 1),
            )  # fmt: skip
            blocks, inside = [], width
            for stage, depth in enumerate(depths):
                for at in range(depth):
                    blocks.append(Residual(inside, width << stage, 2 if stage and not at else 1))
                    inside = 4 * (width << stage)
            self.blocks = nn.ModuleList(blocks)
            self.head = nn.Linear(inside, 100)

        def forward(self, x: Any, targets: Any) -> Any:
            x = self.stem(x)
            for block in self.blocks:
                x = block(x)
            return functional.cross_entropy(self.head(x.mean((2, 3))), targets)

    class Decoder(nn.Module):
        def __init__(self, size: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
            self.mix, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
            self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

        def forward(self, x: Any) -> Any:
            batch, length, size = x.shape
            parts = self.mix(self.norms[0](x)).split(size, dim=2)
            query, key, value = (each.view(batch, length, self.heads, -1).transpose(1, 2) for each in parts)
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, size))
            return x + self.down(functional.gelu(self.up(self.norms[1](x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self, size: int, heads: int, depth: int, words: int, length: int) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, size), nn.Embedding(length, size)
            self.blocks = nn.ModuleList(Decoder(size, heads) for _ in range(depth))
            self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, words, bias=False)
            self.head.weight = self.words.weight

        def forward(self, tokens: Any, targets: Any) -> Any:
            x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
            for block in self.blocks:
                x = block(x)
            logits = self.head(self.norm(x))
            return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    class BERT(nn.Module):
        def __init__(self, size: int, heads: int, depth: int, words: int, length: int) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, size), nn.Embedding(length, size)
            self.norm, self.dropout = nn.LayerNorm(size), nn.Dropout(0.1)
            self.blocks = nn.ModuleList(
                nn.TransformerEncoderLayer(size, heads, 4 * size, 0.1, "gelu", batch_first=True)
                for _ in range(depth)
            )
            self.head = nn.Linear(size, words)

        def forward(self, tokens: Any, targets: Any) -> Any:
            x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
            x = self.dropout(self.norm(x))
            for block in self.blocks:
                x = block(x)
            return functional.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())

    class Recurrent(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.lstm = nn.LSTM(size, size, batch_first=True)

        def forward(self, x: Any) -> Any:
            return self.lstm(x)[0]

    class LSTM(nn.Module):
        def __init__(self, size: int, depth: int, words: int) -> None:
            super().__init__()
            self.words = nn.Embedding(words, size)
            self.blocks = nn.ModuleList(Recurrent(size) for _ in range(depth))
            self.head = nn.Linear(size, words)

        def forward(self, tokens: Any, targets: Any) -> Any:
            x = self.words(tokens)
            for block in self.blocks:
                x = block(x)
            return functional.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())

    return {"MLP": MLP, "ResNet": ResNet, "GPT": GPT, "BERT": BERT, "LSTM": LSTM}


_parts = functools.cache(_classes)
# The numbers of each model, and its batch: (arguments, batch, length or height, words).
_SIZES = {
    "small": {
        "MLP": ((256, 4), 1024, 256, 10),
        "ResNet": (((1, 2), 16), 8, 64, 100),
        "GPT": ((128, 4, 3, 1000, 64), 8, 64, 1000),
        "BERT": ((128, 4, 3, 1000, 64), 8, 64, 1000),
        "LSTM": ((128, 2, 1000), 16, 24, 1000),
    },
    "large": {
        "MLP": ((4096, 8), 8192, 4096, 10),
        "ResNet": (((3, 4, 6, 3), 64), 64, 224, 100),
        "GPT": ((768, 12, 12, 50257, 512), 8, 512, 50257),
        "BERT": ((768, 12, 12, 30522, 256), 16, 256, 30522),
        "LSTM": ((1024, 4, 10000), 128, 128, 10000),
    },
}


def build(
    torch: Any, model: str, scale: str = "small", batch: int | None = None
) -> tuple[Any, tuple[Any, ...]]:
    """The model, and its inputs, on the default device."""
    arguments, usual, length, words = _SIZES[scale][model]
    batch = usual if batch is None else batch
    made = _parts(torch)[model](*arguments)
    if model == "MLP":
        return made, (torch.randn(batch, length), torch.randint(words, (batch,)))
    if model == "ResNet":
        return made, (torch.randn(batch, 3, length, length), torch.randint(words, (batch,)))
    return made, (torch.randint(words, (batch, length)), torch.randint(words, (batch, length)))


def programs(models: tuple[str, ...] = tuple(_SIZES["small"])) -> list[Program]:
    """Every model with SGD and Adam, with and without checkpointing and autocast."""
    ways = itertools.product(models, ("sgd", "adam"), (False, True), (False, True))
    return [Program(*way) for way in ways]


def train(torch: Any, program: Program, scale: str, device: str, autocast: str | None = None) -> None:
    """The program as people write it; ``autocast``: the device that it is for, if it runs on another one."""
    torch.manual_seed(0)
    with torch.device(device):
        model, inputs = build(torch, program.model, scale)
    if program.checkpointing:
        for block in model.blocks:
            block.forward = functools.partial(
                torch.utils.checkpoint.checkpoint, block.forward, use_reentrant=False
            )
    make = torch.optim.Adam if program.optimizer == "adam" else torch.optim.SGD
    optimizer = make(model.parameters(), lr=1e-4)
    for _ in range(STEPS):
        with torch.autocast(autocast or device, dtype=torch.bfloat16, enabled=program.autocast):
            loss = model(*inputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
