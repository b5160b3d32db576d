"""Trains a 4-layer transformer to continue a sequence and prints the loss of every step.

python train_transformer.py DEVICE DROPOUT DTYPE [STEPS]     (DTYPE of autocast; float32 means none)
"""

import json
import sys

import torch
from torch import nn
from torch.nn import functional as F

device, dropout, dtype = sys.argv[1], float(sys.argv[2]), getattr(torch, sys.argv[3])
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 15
VOCABULARY, LENGTH, WIDTH, HEADS, LAYERS = 17, 24, 32, 4, 4


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = self.project(x).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        p = dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.first, self.second, self.drop = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.drop(self.attention(self.first(x)))
        return x + self.drop(self.mlp(self.second(x)))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.drop, self.blocks = nn.Dropout(dropout), nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop(self.tokens(tokens) + self.positions(places))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


torch.manual_seed(0)
model = Transformer().to(device)
starts, steps = torch.randint(0, VOCABULARY, (32, 1)), torch.randint(1, 4, (32, 1))
sequences = ((starts + steps * torch.arange(LENGTH + 1)) % VOCABULARY).to(device)

optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
losses, dropped = [], []
for _ in range(rounds):
    with torch.autocast(torch.device(device).type, dtype=dtype, enabled=dtype != torch.float32):
        logits = model(sequences[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), sequences[:, 1:].flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    with torch.no_grad():
        dropped.append((F.dropout(torch.ones(10000, device=device), dropout) == 0).float().mean().item())
print(json.dumps({"losses": losses, "logits": str(logits.dtype), "dropped": sum(dropped) / len(dropped)}))
