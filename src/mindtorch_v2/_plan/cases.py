"""What can be planned: models by their numbers, ways to train, links between cards.

Note [Ways to train]
``ddp`` every card has all, and gradients are averaged; ``zero`` the same, but each card has the optimizer's state of
some parameters; ``fsdp`` parameters, gradients and state lie in parts, and a layer's are gathered while it computes;
``tp_fsdp`` the cards of a machine compute each layer together, and machines have parts as in ``fsdp``; ``alone`` one
card, and nothing of the kind.
"""

from __future__ import annotations

from dataclasses import dataclass

WAYS = {"ddp": "DDP", "zero": "ZeRO-1", "fsdp": "FSDP", "tp_fsdp": "TP x FSDP"}
DTYPES = ("bfloat16", "float16", "float32")
ALONE = "alone"
OPTIMIZERS = ("adamw", "adam", "sgd", "momentum")


@dataclass(frozen=True)
class Sizes:
    """The numbers that make a decoder."""

    layers: int
    hidden: int
    heads: int
    feed_forward: int
    vocabulary: int
    key_heads: int = 0  # 0: as many as heads

    def checked(self) -> Sizes:
        """Raises if no decoder has such numbers."""
        for name, value in vars(self).items():
            if value < (name != "key_heads"):
                raise ValueError(f"--{name.replace('_', '-')} is {value}, expected a positive number")
        if self.hidden % (2 * self.heads):
            raise ValueError(
                f"--hidden {self.hidden} is not made of {self.heads} heads of an even size: change --hidden or --heads"
            )
        if self.heads % (self.key_heads or self.heads):
            raise ValueError(f"--heads {self.heads} is not a multiple of --key-heads {self.key_heads}")
        return self


NAMED = {
    "7B": Sizes(32, 4096, 32, 11008, 32000),
    "13B": Sizes(40, 5120, 40, 13824, 32000),
    "70B": Sizes(80, 8192, 64, 28672, 32000, key_heads=8),
}


@dataclass(frozen=True)
class Case:
    """One way to train on a number of cards."""

    way: str
    cards: int
    checkpointing: bool
    dtype: str = "bfloat16"
    optimizer: str = "adamw"
    tensor_parallel: int = 8
    device: str = "meta"  # what meta stands for
    autocast: str = ""  # its dtype; empty: none

    @property
    def together(self) -> int:
        """How many cards compute a layer together."""
        return min(self.tensor_parallel, self.cards) if self.way == "tp_fsdp" else 1

    def checked(self) -> Case:
        """Raises if there is no such training."""
        for name in ("cards", "tensor_parallel"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"--{name.replace('_', '-')} is {getattr(self, name)}, expected a positive number"
                )
        if self.cards % self.together:
            raise ValueError(f"{self.cards} cards are not a multiple of --tensor-parallel {self.together}")
        return self


@dataclass(frozen=True)
class Links:
    """How fast cards reach each other, in GB/s, by formula: what a card sends, over this."""

    inside: float = 200.0  # in a machine
    between: float = 25.0
    cards_per_machine: int = 8

    def checked(self) -> Links:
        """Raises if there are no such links."""
        for name, value in vars(self).items():
            if value <= 0:
                raise ValueError(f"--{name.replace('_', '-')} is {value}, expected a positive number")
        return self

    def speed(self, ranks: tuple[int, ...]) -> float:
        """Between the cards of a group."""
        machines = {rank // self.cards_per_machine for rank in ranks}
        return self.inside if len(machines) == 1 else self.between
