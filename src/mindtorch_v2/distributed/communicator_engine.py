"""The engine of a vendor's library of collectives: over communicators that all have the same functions
(``csrc/devices/communicator.h``). A vendor's own part says how they are made."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._C import Tensor, _functions
from .errors import DistBackendError
from .reduce_op import RedOpType, ReduceOp
from .stream_engine import StreamEngine

# How the libraries number them.
_REDUCTIONS = {RedOpType.SUM: 0, RedOpType.PRODUCT: 1, RedOpType.MAX: 2, RedOpType.MIN: 3}
_BITWISE: dict[RedOpType, Callable[[Tensor, Tensor], Tensor]] = {
    RedOpType.BAND: _functions.bitwise_and,
    RedOpType.BOR: _functions.bitwise_or,
    RedOpType.BXOR: _functions.bitwise_xor,
}


def checked(call: Callable[..., Any]) -> Callable[..., Any]:
    """What the library refuses is a failure of the group."""

    @functools.wraps(call)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except DistBackendError:
            raise
        except RuntimeError as error:
            raise DistBackendError(str(error)) from error

    return guarded


def _premultiplied(tensor: Tensor, op: ReduceOp) -> Tensor:
    return tensor if op.factor is None else tensor * op.factor


class CommunicatorEngine(StreamEngine):
    """Reductions that the libraries have not are made of those they have."""

    def _all(self, tensor: Tensor) -> Any:
        return self.line("collectives", tensor.device).communicator

    @checked
    def broadcast(self, tensor: Tensor, root: int) -> None:
        self._all(tensor).broadcast(tensor, root)

    @checked
    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        if (fold := _BITWISE.get(op.op)) is not None:
            room = _functions.empty(
                [self.place.size, *tensor.shape], dtype=tensor.dtype, device=tensor.device
            )
            self._all(tensor).all_gather(room, tensor)
            tensor.copy_(functools.reduce(fold, room))
            return
        if op.op is RedOpType.PREMUL_SUM:
            tensor.copy_(_premultiplied(tensor, op))
        self._all(tensor).all_reduce(tensor, _REDUCTIONS.get(op.op, 0))
        self._divide(tensor, op)

    @checked
    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> None:
        if op.op in _BITWISE:
            mine = tensor if self.place.rank == root else tensor.clone()
            self.all_reduce(mine, op)
            return
        mine = _premultiplied(tensor, op)
        self._all(mine).reduce(mine, root, _REDUCTIONS.get(op.op, 0))
        if self.place.rank == root:
            self._divide(mine, op)
            if mine is not tensor:
                tensor.copy_(mine)

    def _divide(self, tensor: Tensor, op: ReduceOp) -> None:
        if op.op is RedOpType.AVG:
            whole = not (tensor.is_floating_point() or tensor.is_complex())
            tensor.div_(self.place.size, rounding_mode="trunc" if whole else None)

    @checked
    def all_gather(self, out: Tensor, tensor: Tensor) -> None:
        self._all(tensor).all_gather(out, tensor)

    @checked
    def reduce_scatter(self, out: Tensor, tensor: Tensor, op: ReduceOp) -> None:
        if (fold := _BITWISE.get(op.op)) is not None:
            room = _functions.empty([self.place.size, *out.shape], dtype=out.dtype, device=out.device)
            counts = [out.numel()] * self.place.size
            self._all(tensor).all_to_all(room, tensor, counts, counts)
            out.copy_(functools.reduce(fold, room))
            return
        source = _premultiplied(tensor, op)
        self._all(tensor).reduce_scatter(out, source, _REDUCTIONS.get(op.op, 0))
        self._divide(out, op)

    @checked
    def all_to_all(
        self, out: Tensor, tensor: Tensor, out_counts: Sequence[int], counts: Sequence[int]
    ) -> None:
        self._all(tensor).all_to_all(out, tensor, list(out_counts), list(counts))

    @checked
    def gather(self, out: Tensor | None, tensor: Tensor, root: int) -> None:
        """The libraries have none: everybody sends to the root alone."""
        room = _functions.empty([0], dtype=tensor.dtype, device=tensor.device) if out is None else out
        receives = [0 if out is None else tensor.numel()] * self.place.size
        sends = [0] * self.place.size
        sends[root] = tensor.numel()
        self._all(tensor).all_to_all(room, tensor, receives, sends)

    @checked
    def scatter(self, out: Tensor, tensor: Tensor | None, root: int) -> None:
        self._all(out).scatter(out, tensor, root)

    @checked
    def send(self, tensor: Tensor, peer: int, tag: int) -> None:
        line = self.line(("to", peer, tag), tensor.device)
        line.communicator.send(tensor, int(self.place.rank < peer))

    @checked
    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> int:
        assert peer is not None
        line = self.line(("from", peer, tag), tensor.device)
        line.communicator.receive(tensor, int(self.place.rank < peer))
        return peer

    @checked
    def barrier(self) -> None:
        self.line("collectives", self.home()).communicator.barrier()
