"""No library at all: collectives that check and count, for planning with any number of processes in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..._C import Tensor
from ..engine import Engine, Place
from ..reduce_op import ReduceOp
from ..work import Work


class FakeEngine(Engine):
    """Writes what a group in which all had the same values would write; :attr:`traffic` is what it would have sent."""

    name = "fake"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.traffic: Counter[str] = Counter()  # bytes by collective
        self.calls: Counter[str] = Counter()

    def start(
        self,
        name: str,
        tensors: list[Tensor],
        run: Callable[[], Any],
        lane: Any = "collectives",
        reads: Sequence[Tensor] = (),
    ) -> Work:
        work = super().start(name, tensors, run, lane, reads)
        work._await(
            None
        )  # nobody is waited for: it is done where the program calls it, on the program's thread
        return work

    def _count(self, name: str, tensor: Tensor) -> None:
        self.traffic[name] += tensor.nbytes
        self.calls[name] += 1

    def broadcast(self, tensor: Tensor, root: int) -> None:
        self._count("broadcast", tensor)

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        self._count("all_reduce", tensor)

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> None:
        self._count("reduce", tensor)

    def all_gather(self, out: Tensor, tensor: Tensor) -> None:
        self._count("all_gather", out)
        out.view(self.place.size, -1).copy_(tensor.reshape(1, -1))

    def reduce_scatter(self, out: Tensor, tensor: Tensor, op: ReduceOp) -> None:
        self._count("reduce_scatter", tensor)
        out.copy_(tensor.view(self.place.size, -1)[self.place.rank].view(out.shape))

    def all_to_all(
        self, out: Tensor, tensor: Tensor, out_counts: Sequence[int], counts: Sequence[int]
    ) -> None:
        self._count("all_to_all", tensor)
        if out.numel() == tensor.numel():
            out.view(-1).copy_(tensor.view(-1))

    def gather(self, out: Tensor | None, tensor: Tensor, root: int) -> None:
        self._count("gather", tensor)
        if out is not None:
            out.view(self.place.size, -1).copy_(tensor.reshape(1, -1))

    def scatter(self, out: Tensor, tensor: Tensor | None, root: int) -> None:
        self._count("scatter", out)
        if tensor is not None:
            out.copy_(tensor.view(self.place.size, -1)[self.place.rank].view(out.shape))

    def send(self, tensor: Tensor, peer: int, tag: int) -> None:
        self._count("send", tensor)

    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> int:
        self._count("receive", tensor)
        return 0 if peer is None else peer

    def barrier(self) -> None:
        self.traffic["barrier"] += 0
        self.calls["barrier"] += 1
