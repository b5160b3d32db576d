"""Backends that programs register: objects with the methods of PyTorch's backends, used as an engine."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from ..._C import Tensor
from .. import options
from ..engine import Engine, Place
from ..reduce_op import ReduceOp


def backend_options(place: Place) -> Any:
    """What a maker with PyTorch's extended interface gets."""
    return SimpleNamespace(
        store=place.store,
        group_rank=place.rank,
        group_size=place.size,
        timeout=place.timeout,
        group_id=place.name,
        global_ranks_in_group=list(place.ranks),
    )


class ForeignEngine(Engine):
    """Calls a backend's methods and waits for the works that they give."""

    def __init__(self, place: Place, name: str, backend: Any) -> None:
        super().__init__(place)
        self.name, self.backend = name, backend

    def _limit(self, made: Any) -> Any:
        made.timeout = self.place.timeout
        return made

    def broadcast(self, tensor: Tensor, root: int) -> None:
        self.backend.broadcast([tensor], self._limit(options.BroadcastOptions(rootRank=root))).wait()

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        self.backend.allreduce([tensor], self._limit(options.AllreduceOptions(reduceOp=op))).wait()

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> None:
        self.backend.reduce([tensor], self._limit(options.ReduceOptions(reduceOp=op, rootRank=root))).wait()

    def all_gather(self, out: Tensor, tensor: Tensor) -> None:
        parts = list(out.view(self.place.size, *tensor.shape))
        self.backend.allgather([parts], [tensor], self._limit(options.AllgatherOptions())).wait()

    def reduce_scatter(self, out: Tensor, tensor: Tensor, op: ReduceOp) -> None:
        parts = list(tensor.view(self.place.size, *out.shape))
        chosen = self._limit(options.ReduceScatterOptions(reduceOp=op))
        self.backend.reduce_scatter([out], [parts], chosen).wait()

    def all_to_all(
        self, out: Tensor, tensor: Tensor, out_counts: Sequence[int], counts: Sequence[int]
    ) -> None:
        chosen = self._limit(options.AllToAllOptions())
        given = tensor.view(-1), list(counts)
        self.backend.alltoall_base(out.view(-1), given[0], list(out_counts), given[1], chosen).wait()

    def gather(self, out: Tensor | None, tensor: Tensor, root: int) -> None:
        parts = [] if out is None else [list(out.view(self.place.size, *tensor.shape))]
        self.backend.gather(parts, [tensor], self._limit(options.GatherOptions(rootRank=root))).wait()

    def scatter(self, out: Tensor, tensor: Tensor | None, root: int) -> None:
        parts = [] if tensor is None else [list(tensor.view(self.place.size, *out.shape))]
        self.backend.scatter([out], parts, self._limit(options.ScatterOptions(rootRank=root))).wait()

    def send(self, tensor: Tensor, peer: int, tag: int) -> None:
        self.backend.send([tensor], peer, tag).wait()

    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> int:
        if peer is None:
            work = self.backend.recv_anysource([tensor], tag)
            work.wait()
            return int(work.source_rank())
        self.backend.recv([tensor], peer, tag).wait()
        return peer

    def barrier(self) -> None:
        self.backend.barrier(self._limit(options.BarrierOptions())).wait()
