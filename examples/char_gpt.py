"""A small GPT learns to write like this project's documentation, character by character.

    mindtorch run --npu soft examples/char_gpt.py      on the software NPU
    python examples/char_gpt.py                        the same program on PyTorch

It shows the loss as it falls and then writes some text. With --out FOLDER it also records three training steps: a
Chrome trace, a memory snapshot, and a picture of memory over time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import common
import torch
from torch import nn
from torch.nn import functional as F

TEXT = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))


@dataclass
class Config:
    characters: int
    context: int = 64
    width: int = 96
    heads: int = 4
    layers: int = 4


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.queries_keys_values = nn.Linear(config.width, 3 * config.width)
        self.output = nn.Linear(config.width, config.width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.queries_keys_values(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.before_attention = nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.before_mlp = nn.LayerNorm(config.width)
        self.mlp = nn.Sequential(
            nn.Linear(config.width, 4 * config.width), nn.GELU(), nn.Linear(4 * config.width, config.width)
        )

    def forward(self, x):
        x = x + self.attention(self.before_attention(x))
        return x + self.mlp(self.before_mlp(x))


class GPT(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.context = config.context
        self.characters = nn.Embedding(config.characters, config.width)
        self.positions = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.last = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.characters, bias=False)

    def forward(self, indices):
        places = torch.arange(indices.shape[1], device=indices.device)
        x = self.characters(indices) + self.positions(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x))

    @torch.no_grad()
    def write(self, indices, count: int, temperature: float = 0.7):
        """Goes on from `indices` by `count` characters, drawn from what the model expects."""
        for _ in range(count):
            scores = self(indices[:, -self.context :])[:, -1] / temperature
            chosen = torch.multinomial(F.softmax(scores, dim=-1), 1)
            indices = torch.cat([indices, chosen], dim=1)
        return indices


def documentation():
    """This project's documentation as the numbers of its characters, and the characters."""
    text = "".join(path.read_text() for path in TEXT if path.name != "support_matrix.md")
    alphabet = sorted(set(text))
    number_of = {character: number for number, character in enumerate(alphabet)}
    return torch.tensor([number_of[character] for character in text]), alphabet


def windows(data, count: int, context: int):
    """Some stretches of text, each one character longer than the context."""
    starts = torch.randint(len(data) - context, (count,))
    return torch.stack([data[s : s + context + 1] for s in starts])


def loss_of(scores, wanted):
    """How well each next character was expected."""
    return F.cross_entropy(scores.flatten(0, 1), wanted.flatten())


def record(step, device: str, folder: Path) -> None:
    """Three training steps as a trace and, on an accelerator, as the memory they take."""
    folder.mkdir(parents=True, exist_ok=True)
    memory = getattr(torch, device.split(":")[0]).memory if device != "cpu" else None
    if memory:
        memory._record_memory_history(max_entries=100_000)
    with torch.profiler.profile(profile_memory=True) as profile:
        for number in range(3):
            with torch.profiler.record_function(f"training step {number}"):
                step(number)
    profile.export_chrome_trace(str(folder / "trace.json"))
    print(f"wrote {folder / 'trace.json'}: open it in https://ui.perfetto.dev or chrome://tracing")
    order = "self_device_time_total" if memory else "self_cpu_time_total"
    (folder / "profile.txt").write_text(profile.key_averages().table(sort_by=order, row_limit=15))
    print(f"wrote {folder / 'profile.txt'}: where the time went")
    if memory:
        path = folder / "memory_snapshot.pickle"
        memory._dump_snapshot(str(path))
        memory._record_memory_history(enabled=None)
        print(f"wrote {path}: `mindtorch memory view {path}` makes a page of it")


def main() -> None:
    parser = common.parser(__doc__, steps=600)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--out", type=Path, help="record three steps and write what they did there")
    options = parser.parse_args()

    data, alphabet = documentation()
    torch.manual_seed(options.seed)
    config = Config(len(alphabet))
    model = GPT(config).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{len(data):,} characters, {len(alphabet)} different ones; {parameters:,} parameters")

    def step(_):
        window = windows(data, options.batch, config.context).to(options.device)
        with torch.profiler.record_function("forward"):
            loss = loss_of(model(window[:, :-1]), window[:, 1:])
        optimizer.zero_grad()
        with torch.profiler.record_function("backward"):
            loss.backward()
        optimizer.step()
        return loss.detach()

    common.train(step, options)
    start = torch.tensor([[alphabet.index(character) for character in "The "]], device=options.device)
    written = model.eval().write(start, 200)[0].tolist()
    print("---\n" + "".join(alphabet[number] for number in written) + "\n---")
    if options.out:
        record(step, options.device, options.out)


if __name__ == "__main__":
    main()
