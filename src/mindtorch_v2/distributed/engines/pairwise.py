"""Collectives made of messages between two processes, for libraries that carry messages and nothing else.

Note [Pairs]
Small messages cost their number, large ones their bytes. So what is small walks a tree (two messages for each process),
and what is large is cut into a part for each process, which all exchange in rounds. In a round the processes form
pairs, like the teams of a tournament, and everybody meets everybody once. An all_reduce of much is such an exchange,
each process reducing its own part, and a second one of the finished parts: the bytes of a ring, and each value is
computed by one process, so that all have the same bits. Values are reduced by this library's own operators, so a dtype
needs nothing from the library that carries the messages. What is to be reduced comes in pieces that a processor's cache
holds, always into the same memory: a buffer for a whole part would be read from main memory again, and if it is
fresh, the system first fills every page of it with zeros.

Note [Labels]
Every message says what it is part of: the collective, its number in the group, elements and dtype. A process that gets
another label than it expects raises an error with both, instead of reading bytes that mean something else. Two who have
agreed on a collective send each other what else is part of it without labels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence

from ... import _C
from ..._C import Tensor, _functions
from ..engine import Engine, Place
from ..errors import DistBackendError
from ..reduce_op import RedOpType, ReduceOp

LARGE = 1 << 16  # bytes from which on parts are exchanged
_FOLD: dict[RedOpType, Callable[[Tensor, Tensor], Tensor]] = {
    RedOpType.SUM: lambda to, other: to.add_(other),
    RedOpType.AVG: lambda to, other: to.add_(other),
    RedOpType.PREMUL_SUM: lambda to, other: to.add_(other),
    RedOpType.PRODUCT: lambda to, other: to.mul_(other),
    RedOpType.MIN: lambda to, other: _functions.minimum(to, other, out=to),
    RedOpType.MAX: lambda to, other: _functions.maximum(to, other, out=to),
    RedOpType.BAND: lambda to, other: to.bitwise_and_(other),
    RedOpType.BOR: lambda to, other: to.bitwise_or_(other),
    RedOpType.BXOR: lambda to, other: to.bitwise_xor_(other),
}


def begin_fold(own: Tensor, op: ReduceOp) -> None:
    """What happens to everybody's values before they are reduced."""
    if op.factor is not None:
        own.mul_(op.factor)


def end_fold(result: Tensor, op: ReduceOp, size: int) -> None:
    """What happens to the values once they are reduced."""
    if op.op is RedOpType.AVG:
        exact = result.is_floating_point() or result.is_complex()
        result.div_(size, rounding_mode=None if exact else "trunc")


class PairwiseEngine(Engine):
    """Its library has :meth:`put` and :meth:`take`; the rest is written here. Note [Pairs]."""

    piece = 1 << 19  # bytes that are reduced at a time. Note [Pairs]
    both_at_once = (
        LARGE  # bytes from which on it pays to give and take at once, which may need a second thread
    )

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._number = 0  # collectives so far

    @abstractmethod
    def put(self, tensor: Tensor, peer: int, slot: int, label: str, agreed: bool = False) -> None:
        """Sends a tensor with its label to one who takes it from the same slot; ``agreed``: without the label."""

    @abstractmethod
    def take(self, tensor: Tensor, peer: int, slot: int, label: str, agreed: bool = False) -> None:
        """Receives a tensor; raises if its label is another one. Note [Labels]."""

    # ---- the ways that messages go -----------------------------------------------------------------------------

    def _named(self, name: str, tensor: Tensor | None) -> str:
        what = "" if tensor is None else f" of {tensor.numel()} {str(tensor.dtype).removeprefix('torch.')}"
        return f"{name}{what}, number {self._number} of the group"

    def _label(self, name: str, tensor: Tensor | None) -> str:
        """Of the next collective, which all processes call."""
        self._number += 1
        return self._named(name, tensor)

    def _distance(self, root: int) -> int:
        return (self.place.rank - root) % self.place.size

    def _peer(self, distance: int, root: int) -> int:
        return (distance + root) % self.place.size

    def _up(self, tensor: Tensor, root: int, op: ReduceOp | None, label: str) -> None:
        """Reduces along a tree towards the root; without a reduction, all are only waited for."""
        own, step = self._distance(root), 1
        other: Tensor | None = None
        while step < self.place.size:
            if own & step:
                return self.put(tensor, self._peer(own - step, root), 0, label)
            if own + step < self.place.size:
                other = _functions.empty_like(tensor) if other is None else other
                self.take(other, self._peer(own + step, root), 0, label)
                if op is not None:
                    _FOLD[op.op](tensor, other)
            step *= 2
        return None

    def _down(self, tensor: Tensor, root: int, label: str) -> None:
        """The root's values reach all along a tree."""
        own, step = self._distance(root), 1
        while step < self.place.size and not own & step:
            step *= 2
        if own:
            self.take(tensor, self._peer(own - step, root), 0, label)
        while step > 1:
            step //= 2
            if own + step < self.place.size:
                self.put(tensor, self._peer(own + step, root), 0, label)

    def _swap(
        self,
        outgoing: Tensor,
        incoming: Tensor,
        peer: int,
        label: str,
        their_label: str | None = None,
        agreed: bool = False,
    ) -> None:
        """Gives and takes: in turn, the lower rank first, or large messages at once."""
        theirs = their_label or label
        if max(outgoing.nbytes, incoming.nbytes) >= self.both_at_once:
            given = self._give([outgoing], peer, label, agreed)
            self.take(incoming, peer, 0, theirs, agreed)
            given()
        elif self.place.rank < peer:
            self.put(outgoing, peer, 0, label, agreed)
            self.take(incoming, peer, 0, theirs, agreed)
        else:
            self.take(incoming, peer, 0, theirs, agreed)
            self.put(outgoing, peer, 0, label, agreed)

    def _give(
        self, pieces: Sequence[Tensor], peer: int, label: str, agreed: bool = False
    ) -> Callable[[], object]:
        """Begins to put pieces of one message while this thread goes on; what it returns waits until they are gone."""

        def run() -> None:
            for index, piece in enumerate(pieces):
                self.put(piece, peer, 0, label, agreed or index > 0)

        sent = self.start(label, list(pieces), run, "outgoing")
        sent.begin()
        return sent.wait

    def _reduce_parts(self, parts: Sequence[Tensor], own: Tensor, op: ReduceOp, label: str) -> None:
        """Everybody's part for this process is reduced into ``own``, which has its own one. Note [Pairs]."""
        length = self.piece // own.element_size()
        room = _functions.empty_like(own[:length])
        for peer in self._partners():
            if max(parts[peer].nbytes, own.nbytes) < self.both_at_once:
                self._swap(parts[peer], room, peer, label)
                _FOLD[op.op](own, room)
                continue
            given = self._give(parts[peer].split(length), peer, label)
            for index, piece in enumerate(own.split(length)):
                other = room[: piece.numel()]
                self.take(other, peer, 0, label, agreed=index > 0)
                _FOLD[op.op](piece, other)
            given()
        end_fold(own, op, self.place.size)

    def _partners(self) -> Iterator[int]:
        """Whom this process meets, round by round; nobody meets two at once."""
        size, rank = self.place.size, self.place.rank
        last = size - 1 + size % 2  # an odd number has a guest that is not there: who meets it pauses
        for turn in range(last):
            if rank == last:
                yield turn * (last + 1) // 2 % last
                continue
            peer = (turn - rank) % last
            peer = last if peer == rank else peer
            if peer < size:
                yield peer

    # ---- collectives -------------------------------------------------------------------------------------------

    def broadcast(self, tensor: Tensor, root: int) -> None:
        self._down(tensor, root, self._label(f"broadcast from {root}", tensor))

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        label = self._label(f"all_reduce {op.op.name}", tensor)
        begin_fold(tensor, op)
        if tensor.nbytes < LARGE:
            self._up(tensor, 0, op, label)
            self._down(tensor, 0, label)
            return end_fold(tensor, op, self.place.size)
        size, rank = self.place.size, self.place.rank
        each = -(-tensor.numel() // size)
        parts = [tensor.view(-1)[i * each : (i + 1) * each] for i in range(size)]
        self._reduce_parts(parts, parts[rank], op, label)
        for peer in self._partners():
            self._swap(parts[rank], parts[peer], peer, label, agreed=True)
        return None

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> None:
        label = self._label(f"reduce {op.op.name} to {root}", tensor)
        work = tensor if self.place.rank == root else tensor.clone()  # the others keep their values
        begin_fold(work, op)
        self._up(work, root, op, label)
        if self.place.rank == root:
            end_fold(work, op, self.place.size)

    def all_gather(self, out: Tensor, tensor: Tensor) -> None:
        label = self._label("all_gather", tensor)
        parts = out.view(self.place.size, -1)
        parts[self.place.rank].copy_(tensor.view(-1))
        for peer in self._partners():
            self._swap(parts[self.place.rank], parts[peer], peer, label)

    def reduce_scatter(self, out: Tensor, tensor: Tensor, op: ReduceOp) -> None:
        label = self._label(f"reduce_scatter {op.op.name}", tensor)
        parts = tensor.view(self.place.size, -1)
        if op.op is RedOpType.PREMUL_SUM:
            parts = parts.clone()
            begin_fold(parts, op)
        own, result = parts[self.place.rank], out.view(-1)
        if (
            out.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
        ):  # may lie in another one's part
            result = own.clone()
        else:
            result.copy_(own)
        self._reduce_parts(parts.unbind(), result, op, label)
        if result.data_ptr() != out.data_ptr():
            out.copy_(result.view(out.shape))

    def all_to_all(
        self, out: Tensor, tensor: Tensor, out_counts: Sequence[int], counts: Sequence[int]
    ) -> None:
        given, taken = tensor.view(-1).split(list(counts)), out.view(-1).split(list(out_counts))
        self._number += 1
        labels = [[self._named("all_to_all", part) for part in parts] for parts in (given, taken)]
        taken[self.place.rank].copy_(given[self.place.rank])
        for peer in self._partners():
            self._swap(given[peer], taken[peer], peer, labels[0][peer], labels[1][peer])

    def gather(self, out: Tensor | None, tensor: Tensor, root: int) -> None:
        label = self._label(f"gather to {root}", tensor)
        if out is None:
            return self.put(tensor, root, 0, label)
        for peer, part in enumerate(out.view(self.place.size, -1)):
            if peer == root:
                part.copy_(tensor.view(-1))
            else:
                self.take(part, peer, 0, label)
        return None

    def scatter(self, out: Tensor, tensor: Tensor | None, root: int) -> None:
        label = self._label(f"scatter from {root}", out)
        if tensor is None:
            return self.take(out, root, 0, label)
        for peer, part in enumerate(tensor.view(self.place.size, -1)):
            if peer == root:
                out.view(-1).copy_(part)
            else:
                self.put(part, peer, 0, label)
        return None

    def barrier(self) -> None:
        nothing = _functions.empty([0], dtype=_C.uint8)
        label = self._label("barrier", nothing)
        self._up(nothing, 0, None, label)
        self._down(nothing, 0, label)

    def send(self, tensor: Tensor, peer: int, tag: int) -> None:
        self.put(tensor, peer, tag + 1, f"message of {tensor.nbytes} bytes with tag {tag}")

    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> int:
        if peer is None:
            raise DistBackendError(
                f"{self.name} cannot receive from anybody; name the sender: recv(tensor, src)"
            )
        self.take(tensor, peer, tag + 1, f"message of {tensor.nbytes} bytes with tag {tag}")
        return peer
