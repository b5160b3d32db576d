"""Random schedules of collectives on several NPUs, under the software NPU's sanitizer: right values, no race, no leak.

Every rank draws the same schedule from the seed, knows what all ranks put in, and so what must come out.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from npu_ranks import group_of

import mindtorch_v2 as torch
from mindtorch_v2 import distributed as dist

ROUNDS = 200
DTYPES = ("float32", "float16", "bfloat16", "int32", "int64", "uint8", "int8", "float64")
FOLDS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "SUM": torch.add,
    "MAX": torch.maximum,
    "MIN": torch.minimum,
    "PRODUCT": torch.mul,
}
Tensors = list[torch.Tensor]


@dataclass
class Round:
    """A collective that was begun: what it works on, what it must give, and what to wait for."""

    got: Tensors
    wanted: Tensors
    works: list[Any] = field(default_factory=list)


class Schedule:
    def __init__(self, rank: int, size: int, seed: int) -> None:
        self.rank, self.size, self.dice = rank, size, random.Random(seed)
        self.pending: list[Round] = []
        self.side = torch.npu.Stream()
        pairs = [list(range(start, min(start + 2, size))) for start in range(0, size, 2)]
        self.groups = [(None, list(range(size)))]
        own, _ = dist.new_subgroups_by_enumeration(pairs)
        self.groups.append((own, pairs[rank // 2]))

    def run(self) -> None:
        kinds = [
            self.all_reduce, self.broadcast, self.reduce, self.all_gather, self.reduce_scatter, self.all_to_all,
            self.gather, self.scatter, self.messages,
        ]  # fmt: skip
        for number in range(ROUNDS):
            kind = self.dice.choice(kinds)
            beside = self.dice.random() < 0.3
            stream = self.side if beside else torch.npu.current_stream()
            with torch.npu.stream(stream):
                self.round(kind, number, wait=self.dice.random() < 0.5)
            if self.dice.random() < 0.05:
                dist.barrier()
        while self.pending:
            self.finish()

    def round(self, kind: Callable[..., Round], number: int, wait: bool) -> None:
        self.group, self.members = self.dice.choice(self.groups)
        self.place = self.members.index(self.rank)
        self.count = self.dice.choice([1, 7, 64, 1000, 40_000])
        self.dtype = getattr(torch, self.dice.choice(DTYPES))
        op, root = self.dice.choice(list(FOLDS)), self.dice.randrange(2)
        self.number = number
        begun = kind(op, root)
        self.pending.append(begun)
        if wait or len(self.pending) > 5:
            self.dice.shuffle(self.pending)
            self.finish()

    def finish(self) -> None:
        done = self.pending.pop()
        for work in done.works:
            work.wait()
        for got, wanted in zip(done.got, done.wanted, strict=True):
            got.record_stream(torch.npu.current_stream())
            torch.testing.assert_close(got.cpu(), wanted, rtol=0, atol=0)

    def values(self, member: int, part: int = 0, count: int | None = None) -> torch.Tensor:
        """Small whole numbers, on the host, so that every dtype has all their sums and products."""
        numbers = (torch.arange(count or self.count) * 3 + member + part + self.number) % 3 + 1
        return numbers.to(self.dtype)

    def own(self, part: int = 0, count: int | None = None) -> torch.Tensor:
        """This rank's part, computed on the device just before."""
        return self.values(self.place, part, count).npu() * 2 - self.values(self.place, part, count).npu()

    def room(self, count: int | None = None) -> torch.Tensor:
        return torch.zeros(count or self.count, dtype=self.dtype, device="npu")

    def folded(self, op: str, part: int = 0) -> torch.Tensor:
        total = self.values(0, part)
        for member in range(1, len(self.members)):
            total = FOLDS[op](total, self.values(member, part))
        return total

    def all_reduce(self, op: str, root: int) -> Round:
        tensor = self.own()
        work = dist.all_reduce(tensor, getattr(dist.ReduceOp, op), group=self.group, async_op=True)
        return Round([tensor], [self.folded(op)], [work])

    def broadcast(self, op: str, root: int) -> Round:
        tensor = self.own()
        work = dist.broadcast(tensor, group=self.group, group_src=root, async_op=True)
        return Round([tensor], [self.values(root)], [work])

    def reduce(self, op: str, root: int) -> Round:
        tensor = self.own()
        work = dist.reduce(
            tensor, op=getattr(dist.ReduceOp, op), group=self.group, group_dst=root, async_op=True
        )
        if self.place != root:
            return Round([], [], [work])
        return Round([tensor], [self.folded(op)], [work])

    def all_gather(self, op: str, root: int) -> Round:
        wanted = [self.values(member) for member in range(len(self.members))]
        if root:
            out = self.room(self.count * len(wanted))
            work = dist.all_gather_single(out, self.own(), group=self.group, async_op=True)
            return Round([out], [torch.cat(wanted)], [work])
        parts = [self.room() for _ in wanted]
        return Round(parts, wanted, [dist.all_gather(parts, self.own(), group=self.group, async_op=True)])

    def reduce_scatter(self, op: str, root: int) -> Round:
        out, how = self.room(), getattr(dist.ReduceOp, op)
        inputs = [self.own(part) for part in range(len(self.members))]
        if root:
            whole = torch.cat(inputs)
            work = dist.reduce_scatter_single(out, whole, how, group=self.group, async_op=True)
        else:
            work = dist.reduce_scatter(out, inputs, how, group=self.group, async_op=True)
        return Round([out], [self.folded(op, self.place)], [work])

    def all_to_all(self, op: str, root: int) -> Round:
        # Member a gives member b a + b + 1 numbers.
        size = len(self.members)
        lengths = [self.place + other + 1 for other in range(size)]
        inputs = [self.own(other, length) for other, length in enumerate(lengths)]
        wanted = [self.values(other, self.place, length) for other, length in enumerate(lengths)]
        if root:
            out = self.room(sum(lengths))
            work = dist.all_to_all_single(
                out, torch.cat(inputs), lengths, lengths, group=self.group, async_op=True
            )
            return Round([out], [torch.cat(wanted)], [work])
        parts = [self.room(length) for length in lengths]
        return Round(parts, wanted, [dist.all_to_all(parts, inputs, group=self.group, async_op=True)])

    def gather(self, op: str, root: int) -> Round:
        wanted = [self.values(member) for member in range(len(self.members))] if self.place == root else []
        parts = [self.room() for _ in wanted]
        work = dist.gather(self.own(), parts or None, group=self.group, group_dst=root, async_op=True)
        return Round(parts, wanted, [work])

    def scatter(self, op: str, root: int) -> Round:
        inputs = [self.own(part) for part in range(len(self.members))] if self.place == root else None
        out = self.room()
        work = dist.scatter(out, inputs, group=self.group, group_src=root, async_op=True)
        return Round([out], [self.values(root, self.place)], [work])

    def messages(self, op: str, root: int) -> Round:
        size = len(self.members)
        after, before = (self.place + 1) % size, (self.place - 1) % size
        out = self.room()
        works = [
            dist.isend(self.own(), group=self.group, group_dst=after),
            dist.irecv(out, group=self.group, group_src=before),
        ]
        return Round([out], [self.values(before)], works)


def play(rank: int, size: int, seed: int) -> int:
    Schedule(rank, size, seed).run()
    dist.destroy_process_group()
    torch.npu.synchronize()
    gc.collect()
    return torch.npu.memory_allocated()


ADVERSARY = {"SOFTNPU_SCHEDULE": "7"}


@pytest.mark.parametrize(("size", "seed", "settings"), [(2, 1, {}), (4, 2, {}), (4, 3, ADVERSARY)])
def test_a_random_schedule_has_right_results_without_races_or_leaks(
    tmp_path: Path, size: int, seed: int, settings: dict[str, str]
) -> None:
    log = tmp_path / "reports.jsonl"
    with group_of(size, tmp_path, SOFTNPU_SANITIZE="1", SOFTNPU_SANITIZE_LOG=str(log), **settings) as ranks:
        assert ranks.run(play, size, seed) == [0] * size
    assert not log.exists() or log.read_text() == ""
