"""What passes between the stages of a pipeline: activations forward, their gradients backward.

Note [Order of messages]
Messages of one process to another arrive in the order in which they are sent. Every process knows the actions of all,
so it knows in which order each of the others sends to it, and asks for messages in that order whatever it needs first
itself. Sends never wait, and an action waits only for what it needs: where the actions themselves have no circle, no
process waits for ever. What the next action needs is asked for before the current one is computed, so that it arrives
meanwhile.

Note [Shapes of activations]
A receiver must know how much room a message needs. In the first step of a schedule each message of activations is
preceded by a description of its tensors, which both sides keep for the steps that follow; no pass is run only to find
out shapes, so the first step draws the same random numbers and counts the same batches as any other. Steps that train
and steps that evaluate have descriptions of their own. Gradients have the shapes of what they belong to.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import _C
from ..._C import Tensor, _functions
from ..._tensor.buffers import frombuffer
from ..messages import P2POp, batch_isend_irecv, irecv, isend
from ..process_group import ProcessGroup
from ..tensor import DTensor
from ..work import Work
from ._actions import BACKWARD_WEIGHT, FORWARD, FULL_BACKWARD, Order, _Action, _ComputationType

# For each stage: the stages that take its outputs, and which of them (None: all).
Routes = list[dict[int, list[int] | None]]


class Message(NamedTuple):
    """The tensors of one microbatch from one stage to another."""

    kind: _ComputationType  # FORWARD or FULL_BACKWARD, whichever half of it
    source: int
    target: int
    microbatch: int


class Described(NamedTuple):
    """A tensor without its values."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: Any
    requires_grad: bool

    def __str__(self) -> str:
        what = f"{str(self.dtype).removeprefix('torch.')}{list(self.shape)}"
        return f"{what} with gradients" if self.requires_grad else what

    def room(self, device: Any) -> Tensor:
        return _functions.empty_strided(self.shape, self.stride, dtype=self.dtype, device=device)


def described(tensor: Any) -> Described:
    """What a receiver must know of a tensor; the one it gets has memory of its own."""
    like = _functions.empty_like(tensor.detach(), device="meta")
    return Described(tuple(like.shape), tuple(like.stride()), like.dtype, tensor.requires_grad)


def sent_by(routes: Routes, action: _Action) -> list[Message]:
    """The messages that follow an action."""
    stage, kind, microbatch = action
    if kind is BACKWARD_WEIGHT:
        return []
    if kind is FORWARD:
        return [Message(FORWARD, stage, other, microbatch) for other in sorted(routes[stage])]
    return [Message(FULL_BACKWARD, stage, other, microbatch) for other in _before(routes, stage)]


def _before(routes: Routes, stage: int) -> list[int]:
    return [other for other, targets in enumerate(routes) if stage in targets]


def needed_by(routes: Routes, action: _Action) -> list[Message]:
    """The messages that an action waits for."""
    stage, kind, microbatch = action
    if kind is BACKWARD_WEIGHT:
        return []
    if kind is FORWARD:
        return [Message(FORWARD, other, stage, microbatch) for other in _before(routes, stage)]
    return [Message(FULL_BACKWARD, other, stage, microbatch) for other in sorted(routes[stage])]


class Exchange:
    """The messages of one kind of step of a schedule on one process. Note [Order of messages]."""

    def __init__(
        self,
        group: ProcessGroup,
        device: Any,
        order: Order,
        rank_of: dict[int, int],
        routes: Routes,
        trains: bool,
    ) -> None:
        self._group, self._device, self._rank_of, self._routes = group, device, rank_of, routes
        self._trains = trains  # otherwise nobody asks whether tensors have gradients
        self._incoming: dict[int, list[Message]] = {
            rank: [
                message
                for action in actions
                for message in sent_by(routes, action)
                if rank_of[message.target] == group.rank()
            ]
            for rank, actions in order.items()
            if rank != group.rank()
        }
        self._known: dict[Message, list[Described]] = {}
        self.begin()

    def begin(self) -> None:
        """A new step."""
        self._expected = {rank: deque(messages) for rank, messages in self._incoming.items()}
        self._arriving: dict[Message, tuple[list[Tensor], list[Work]]] = {}
        self._here: dict[Message, list[Tensor]] = {}  # between stages of this process
        self._sending: list[tuple[Work, Tensor]] = []

    def finish(self) -> None:
        """Returns when everything that was sent has gone."""
        for work, _ in self._sending:
            work.wait()
        self._sending.clear()

    # ---- sending -----------------------------------------------------------------------------------------------

    def send(self, message: Message, tensors: Sequence[Tensor]) -> None:
        """Sends what an action computed; the program goes on."""
        if message.kind is FORWARD:
            self._describe(message, tensors)
        peer = self._rank_of[message.target]
        if peer == self._group.rank():
            self._here[message] = [each.detach() for each in tensors]
        else:
            self._post(isend, peer, [each.detach().contiguous() for each in tensors])

    def _post(self, how: Any, peer: int, tensors: list[Tensor]) -> list[Work]:
        if not tensors:
            return []
        works = batch_isend_irecv([P2POp(how, each, group=self._group, group_peer=peer) for each in tensors])
        if how is isend:
            self._sending = [each for each in self._sending if not each[0].is_completed()]
            self._sending += zip(works, tensors, strict=True)
        return works

    def _describe(self, message: Message, tensors: Sequence[Any]) -> None:
        """Keeps, and the first time sends, what the tensors look like."""
        for index, each in enumerate(tensors):
            if not isinstance(each, Tensor) or isinstance(each, DTensor):
                raise TypeError(
                    f"stage {message.source} gave a {type(each).__name__} as output {index}: only plain tensors pass "
                    "to other stages"
                )
        now = [described(each) for each in tensors]
        if not self._trains:
            now = [each._replace(requires_grad=False) for each in now]
        before = self._known.setdefault(message, now)
        if before is not now:
            if before != now:
                raise ValueError(
                    f"stage {message.source} gave {', '.join(map(str, now))} for microbatch {message.microbatch}, but "
                    f"{', '.join(map(str, before))} in the first step: a schedule keeps its shapes; make another "
                    "schedule for other ones"
                )
            return
        peer = self._rank_of[message.target]
        if peer != self._group.rank():
            home = self._group.object_device
            text = frombuffer(bytearray(pickle.dumps(now)), dtype=_C.uint8).to(home)
            length = _functions.full([1], text.numel(), dtype=_C.int64, device=home)
            self._post(isend, peer, [length])
            self._post(isend, peer, [text])

    def describes(self, message: Message) -> list[Described]:
        """What the tensors of a message look like that was sent or received."""
        return self._known[message]

    # ---- receiving ---------------------------------------------------------------------------------------------

    def ask_for(self, action: _Action) -> None:
        """Begins to receive what an action will need, as far as its shapes are known."""
        for message in needed_by(self._routes, action):
            peer = self._rank_of[message.source]
            if peer != self._group.rank() and message not in self._arriving:
                self._receive_until(message, peer, wait=False)

    def take(self, message: Message) -> list[Tensor]:
        """The tensors of a message; waits for them."""
        peer = self._rank_of[message.source]
        if peer == self._group.rank():
            return self._here.pop(message)
        if message not in self._arriving:
            self._receive_until(message, peer, wait=True)
        tensors, works = self._arriving.pop(message)
        for work in works:
            work.wait()
        return tensors

    def _receive_until(self, wanted: Message, peer: int, wait: bool) -> None:
        """Asks for the messages up to this one, in the order in which they are sent."""
        expected = self._expected[peer]
        while wanted not in self._arriving:
            message = expected[0]
            shapes = self._shapes(message)
            if shapes is None:
                if not wait:
                    return
                shapes = self._known[message] = self._description(peer)
            expected.popleft()
            room = [each.room(self._device) for each in shapes]
            self._arriving[message] = (room, self._post(irecv, peer, room))

    def _shapes(self, message: Message) -> list[Described] | None:
        if message.kind is FULL_BACKWARD:
            back = Message(FORWARD, message.target, message.source, message.microbatch)
            sent = self._known.get(
                back
            )  # absent: this process has yet to compute what the gradients belong to
            return None if sent is None else [each for each in sent if each.requires_grad]
        return self._known.get(message)

    def _description(self, peer: int) -> list[Described]:
        home = self._group.object_device
        length = _functions.empty([1], dtype=_C.int64, device=home)
        for work in self._post(irecv, peer, [length]):
            work.wait()
        text = _functions.empty([int(length.item())], dtype=_C.uint8, device=home)
        for work in self._post(irecv, peer, [text]):
            work.wait()
        found: list[Described] = pickle.loads(bytes(text.cpu().numpy()))  # of the same program
        return found
