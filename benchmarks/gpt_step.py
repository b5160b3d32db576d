"""A training step of a small GPT, for any library with PyTorch's interface."""

import importlib
from collections.abc import Callable
from typing import Any


def gpt_step(
    torch: Any,
    device: str,
    *,
    layers: int = 4,
    heads: int = 4,
    width: int = 128,
    context: int = 64,
    vocabulary: int = 256,
    batch: int = 4,
    capturable: bool = False,
) -> Callable[[], Any]:
    """A function that makes one step of AdamW and returns the loss."""
    nn = torch.nn
    functional = importlib.import_module(torch.__name__ + ".nn.functional")

    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

        def forward(self, x: Any) -> Any:
            return functional.layer_norm(x, (width,), self.weight, self.bias)

    class Table(nn.Module):
        def __init__(self, rows: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(0.02 * torch.randn(rows, width))

        def forward(self, indices: Any) -> Any:
            return functional.embedding(indices, self.weight)

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inputs = nn.Linear(width, 3 * width)
            self.output = nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            split = (x.shape[0], x.shape[1], heads, width // heads)
            query, key, value = (part.view(split).transpose(1, 2) for part in self.inputs(x).split(width, 2))
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            return self.output(mixed.transpose(1, 2).reshape(x.shape))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm_attention, self.attention = Norm(), Attention()
            self.norm_mlp = Norm()
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm_attention(x))
            return x + self.narrow(functional.gelu(self.wide(self.norm_mlp(x))))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = Table(vocabulary), Table(context)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm = Norm()
            self.head = nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens: Any, places: Any) -> Any:
            x = self.token(tokens) + self.place(places)
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    torch.manual_seed(0)
    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=capturable)
    tokens = torch.randint(0, vocabulary, (batch, context)).to(device)
    targets = torch.randint(0, vocabulary, (batch, context)).to(device)
    places = torch.arange(context).to(device)

    def step() -> Any:
        optimizer.zero_grad()
        scores = model(tokens, places)
        loss = functional.cross_entropy(scores.view(-1, vocabulary), targets.view(-1))
        loss.backward()
        optimizer.step()
        return loss

    return step
