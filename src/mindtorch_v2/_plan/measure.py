"""Runs a training on ``meta`` as one of many processes, and says what it took.

Note [What is measured]
The program is the real one: model, DistributedDataParallel, optimizers, fully_shard and tensor parallelism run as they
do on cards, on tensors without values and over the backend ``fake``, as rank 0 of as many processes as wanted. Memory
is what its tensors would take up (Note [Memory on meta]), traffic what its collectives were given, in the third step,
when nothing is new any more. What a device's library takes for itself, and gaps between blocks, are not in it. Only
two things are formulas: what a card sends for a collective, and for how long.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from ..distributed import world
from ..distributed.engines.fake import FakeEngine
from ..distributed.process_group import ProcessGroup
from . import memory
from .cases import WAYS, Case, Links
from .memory import Highest, Purpose
from .models import Subject
from .training import Training

# Of a message of N bytes among n cards, as rings send it: which part of it every card sends.
_RINGS = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "all_to_all": 1}


@dataclass(frozen=True)
class Traffic:
    """The collectives of one kind in one group, in a step."""

    group: str
    cards: int
    collective: str
    calls: int
    bytes: int  # of the whole messages, as given to the collective
    sent: int  # by this card: a formula
    seconds: float  # a formula


@dataclass(frozen=True)
class Measured:
    """What a card needs."""

    case: Case
    parameters: int  # of the whole model
    memory: Highest
    traffic: list[Traffic]

    @property
    def sent(self) -> int:
        return sum(each.sent for each in self.traffic)

    @property
    def seconds(self) -> float:
        return sum(each.seconds for each in self.traffic)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": WAYS[self.case.way],
            **asdict(self.case),
            "parameters": self.parameters,
            "peak_bytes": self.memory.peak,
            "bytes_at_peak": _named(self.memory.at_peak),
            "most_bytes": _named(self.memory.each),
            "sent_bytes": self.sent,
            "communication_seconds": self.seconds,
            "traffic": [asdict(each) for each in self.traffic],
        }


def _named(shares: dict[Purpose, int]) -> dict[str, int]:
    return {purpose.name.lower(): nbytes for purpose, nbytes in shares.items()}


def sent_by_each(collective: str, nbytes: int, cards: int) -> int:
    """What a card sends for a message, as rings and trees do."""
    if cards == 1 or not nbytes:
        return 0
    rounds = _RINGS.get(collective)
    return nbytes if rounds is None else rounds * nbytes * (cards - 1) // cards


@contextmanager
def one_of_many(cards: int, rank: int = 0) -> Iterator[None]:
    """This process is one of so many, of which the others do not exist."""
    world.init_process_group("fake", rank=rank, world_size=cards)
    try:
        yield
    finally:
        world.destroy_process_group()


def _engines() -> list[tuple[ProcessGroup, FakeEngine]]:
    found = [(group, group.engine_for("meta")) for group in world._world.groups.values()]
    return [(group, engine) for group, engine in found if isinstance(engine, FakeEngine)]


def measure(subject: Subject, case: Case, links: Links) -> Measured:
    """What the first of the cards needs for a step."""
    case.checked()
    with one_of_many(case.cards):
        training = Training(subject, case, "meta")
        parameters = sum(each.numel() for each in training.model.parameters())
        for _ in range(2):  # buckets get their order in the second
            training.step()
            training.settle()
        gc.collect()  # what only cycles hold would be taken for memory in use
        before = {id(engine): (engine.traffic.copy(), engine.calls.copy()) for _, engine in _engines()}
        memory.begin()
        training.step()
        needed = memory.highest()
        traffic = []
        for group, engine in _engines():
            old_bytes, old_calls = before[id(engine)]
            for name, calls in sorted((engine.calls - old_calls).items()):
                nbytes = engine.traffic[name] - old_bytes[name]
                sent = sent_by_each(name, nbytes, group.size())
                seconds = sent / links.speed(group.ranks) / 1e9
                traffic.append(Traffic(group.group_desc, group.size(), name, calls, nbytes, sent, seconds))
    del training
    gc.collect()
    return Measured(case, parameters, needed, traffic)
