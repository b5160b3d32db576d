"""What is planned for: decoders like Llama by their numbers, and models of a file."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

from .. import Tensor, arange, cat, cos, nn, outer, randint, sin, stack
from .._C import _functions
from ..distributed.tensor.parallel import ColwiseParallel, RowwiseParallel
from ..distributed.tensor.placement_types import Replicate
from ..nn import functional
from .cases import NAMED, Sizes


def _turned(x: Tensor, turn: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * turn[0] + cat([-second, first], -1) * turn[1]


class Attention(nn.Module):
    """Causal attention with rotated positions; several heads may share their keys."""

    def __init__(self, sizes: Sizes, fused: bool) -> None:
        super().__init__()
        self.size, self.fused = sizes.hidden // sizes.heads, fused
        keys = (sizes.key_heads or sizes.heads) * self.size
        self.query = nn.Linear(sizes.hidden, sizes.hidden, bias=False)
        self.key = nn.Linear(sizes.hidden, keys, bias=False)
        self.value = nn.Linear(sizes.hidden, keys, bias=False)
        self.output = nn.Linear(sizes.hidden, sizes.hidden, bias=False)

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], -1, self.size).transpose(
            1, 2
        )  # -1: under tensor parallelism some of the heads

    def forward(self, x: Tensor, turn: Tensor) -> Tensor:
        query, key, value = (self._split(each(x)) for each in (self.query, self.key, self.value))
        query, key = _turned(query, turn), _turned(key, turn)
        if self.fused:
            mixed, _ = _functions._scaled_dot_product_flash_attention_for_cpu(
                query, key, value, is_causal=True
            )
        else:
            shares = key.shape[1] < query.shape[1]
            mixed = functional.scaled_dot_product_attention(
                query, key, value, is_causal=True, enable_gqa=shares
            )
        return self.output(mixed.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


class Block(nn.Module):
    """Attention and a gated feed-forward part, each after a norm and beside the stream."""

    def __init__(self, sizes: Sizes, fused: bool) -> None:
        super().__init__()
        self.attention_norm, self.norm = nn.RMSNorm(sizes.hidden), nn.RMSNorm(sizes.hidden)
        self.attention = Attention(sizes, fused)
        self.gate = nn.Linear(sizes.hidden, sizes.feed_forward, bias=False)
        self.up = nn.Linear(sizes.hidden, sizes.feed_forward, bias=False)
        self.down = nn.Linear(sizes.feed_forward, sizes.hidden, bias=False)

    def forward(self, x: Tensor, turn: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x), turn)
        y = self.norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))  # type: ignore[no-any-return]


class Decoder(nn.Module):
    """Gives the loss of predicting each next token."""

    def __init__(self, sizes: Sizes, sequence: int, fused: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.hidden)
        self.blocks = nn.ModuleList(Block(sizes, fused) for _ in range(sizes.layers))
        self.norm = nn.RMSNorm(sizes.hidden)
        self.head = nn.Linear(sizes.hidden, sizes.vocabulary, bias=False)
        size = sizes.hidden // sizes.heads
        angles = outer(arange(sequence), 10000.0 ** (-arange(0, size, 2) / size)).repeat(1, 2)
        self.register_buffer("turn", stack([cos(angles), sin(angles)]), persistent=False)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.turn)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

    def tensor_parallel_plan(self) -> dict[str, Any]:
        """How its layers are cut over cards that compute one step together."""
        plan: dict[str, Any] = {
            "embedding": RowwiseParallel(input_layouts=Replicate()),
            "head": ColwiseParallel(output_layouts=Replicate()),
        }
        for name in ("attention.query", "attention.key", "attention.value", "gate", "up"):
            plan[f"blocks.*.{name}"] = ColwiseParallel()
        for name in ("attention.output", "down"):
            plan[f"blocks.*.{name}"] = RowwiseParallel()
        return plan


@dataclass(frozen=True)
class Subject:
    """A model to plan for: ``build`` gives it, and what its forward gets, on the default device."""

    name: str
    build: Callable[[], tuple[nn.Module, tuple[Any, ...]]]


def decoder(name: str, sizes: Sizes, batch: int, sequence: int, fused: bool = True) -> Subject:
    """A decoder and a batch for one card; ``fused``: attention keeps no matrix of the sequence with itself."""
    sizes.checked()

    def build() -> tuple[nn.Module, tuple[Any, ...]]:
        tokens = randint(sizes.vocabulary, (batch, sequence + 1))
        return Decoder(sizes, sequence, fused), (tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())

    return Subject(name, build)


def of_file(place: str, batch: int | None = None) -> Subject:
    """What a function of a file gives: ``file.py:function``, without arguments or with the size of a batch, a model and
    a tuple of its inputs."""
    path, _, function = place.rpartition(":")
    if not path:
        raise ValueError(f"the model is {place!r}, expected one of {', '.join(NAMED)}, or file.py:function")
    make = runpy.run_path(path).get(function)
    if not callable(make):
        raise ValueError(f"{path} has no function {function!r}")

    if batch is not None and "batch" not in signature(make).parameters:
        raise ValueError(f"{place} takes no argument called batch, so that its batch cannot be chosen here")

    def build() -> tuple[nn.Module, tuple[Any, ...]]:
        found = make() if batch is None else make(batch=batch)
        if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], nn.Module)):
            raise ValueError(
                f"{place} gave a {type(found).__name__}; expected a pair: a model, and a tuple of what its forward gets"
            )
        model, inputs = found
        return model, inputs if isinstance(inputs, tuple) else (inputs,)

    return Subject(place, build)


def blocks_of(model: nn.Module) -> list[nn.Module]:
    """The layers that a model repeats: the longest list of modules of one kind in it."""
    lists = [
        each for each in model.modules() if isinstance(each, (nn.ModuleList, nn.Sequential)) and len(each)
    ]
    alike = [list(each) for each in lists if len({type(part) for part in each}) == 1]
    return max(alike, key=len, default=[])
