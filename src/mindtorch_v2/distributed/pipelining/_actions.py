"""What each process of a pipeline does in which order: the schedules as plain lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple


class _ComputationType(Enum):
    """What is computed for a microbatch."""

    FORWARD = "F"
    BACKWARD_INPUT = "I"
    BACKWARD_WEIGHT = "W"
    FULL_BACKWARD = "B"

    def __str__(self) -> str:
        return self.value


FORWARD, FULL_BACKWARD = _ComputationType.FORWARD, _ComputationType.FULL_BACKWARD
BACKWARD_INPUT, BACKWARD_WEIGHT = _ComputationType.BACKWARD_INPUT, _ComputationType.BACKWARD_WEIGHT


class _Action(NamedTuple):
    """One pass of one microbatch through one stage."""

    stage_index: int
    computation_type: _ComputationType
    microbatch_index: int

    def __repr__(self) -> str:
        return f"{self.stage_index}{self.computation_type}{self.microbatch_index}"


Order = dict[int, list[_Action]]  # by rank


def _of(stage: int, kind: _ComputationType, microbatches: Iterator[int] | range) -> list[_Action]:
    return [_Action(stage, kind, each) for each in microbatches]


def forward_only(stages: int, microbatches: int) -> Order:
    """Every microbatch forward, on every stage."""
    return {stage: _of(stage, FORWARD, range(microbatches)) for stage in range(stages)}


def gpipe(stages: int, microbatches: int) -> Order:
    """All microbatches forward, then all backward."""
    forward = forward_only(stages, microbatches)
    return {stage: forward[stage] + _of(stage, FULL_BACKWARD, range(microbatches)) for stage in range(stages)}


def one_forward_one_backward(stages: int, microbatches: int) -> Order:
    """As many forward as stages follow, then one backward and one forward in turn: fewer are kept at a time."""
    return {
        stage: _in_turn(
            _of(stage, FORWARD, range(microbatches)),
            _of(stage, FULL_BACKWARD, range(microbatches)),
            min(microbatches, stages - stage - 1),
        )
        for stage in range(stages)
    }


def _in_turn(forward: list[_Action], backward: list[_Action], ahead: int) -> list[_Action]:
    """``ahead`` passes forward, then one forward and one backward in turn, then the rest backward."""
    made = forward[:ahead]
    for one, other in zip(forward[ahead:], backward, strict=False):
        made += [one, other]
    return made + backward[len(forward) - ahead :]


def looped_breadth_first(ranks: int, local_stages: int, microbatches: int) -> Order:
    """Each stage of a process with all microbatches before the next stage; backward in reverse."""
    order: Order = {}
    for rank in range(ranks):
        stages = [rank + ranks * local for local in range(local_stages)]
        forward = [each for stage in stages for each in _of(stage, FORWARD, range(microbatches))]
        order[rank] = forward + [each._replace(computation_type=FULL_BACKWARD) for each in reversed(forward)]
    return order


def interleaved(ranks: int, local_stages: int, microbatches: int) -> Order:
    """Several stages on a process (arXiv 2104.04473): microbatches go round by round, one forward, one backward."""
    rounds = max(1, microbatches // ranks)
    if microbatches % rounds:
        raise ValueError(
            "Interleaved 1F1B requires the number of microbatches to be a multiple of the number of rounds "
            f"({rounds}), but got {microbatches}."
        )
    per_round, total = microbatches // rounds, microbatches * local_stages

    def actions(rank: int, kind: _ComputationType, local: Callable[[int], int]) -> list[_Action]:
        return [
            _Action(
                rank + ranks * local(number // per_round % local_stages),
                kind,
                number // (per_round * local_stages) * per_round + number % per_round,
            )
            for number in range(total)
        ]

    order: Order = {}
    for rank in range(ranks):
        forward = actions(rank, FORWARD, lambda local: local)
        backward = actions(rank, FULL_BACKWARD, lambda local: local_stages - 1 - local)
        ahead = (local_stages - 1) * per_round + 2 * (ranks - 1 - rank)
        order[rank] = _in_turn(forward, backward, min(ahead, total))
    return order


# ---- backward passes in two halves (arXiv 2401.10241) ---------------------------------------------------------------


class _Clock:
    """Actions that take the same time each, on all processes at once: what can run when."""

    def __init__(self, stages: int) -> None:
        self._stages = stages
        self._done: set[_Action] = set()  # before this moment
        self._now: list[_Action] = []

    def can(self, action: _Action) -> bool:
        """Whether what the action needs has been computed."""
        stage, kind, microbatch = action
        if kind is FORWARD:
            return stage == 0 or _Action(stage - 1, FORWARD, microbatch) in self._done
        if kind is BACKWARD_WEIGHT:
            return _Action(stage, BACKWARD_INPUT, microbatch) in self._done
        own = _Action(stage, FORWARD, microbatch) in self._done
        return own and (
            stage + 1 == self._stages or _Action(stage + 1, BACKWARD_INPUT, microbatch) in self._done
        )

    def run(self, action: _Action) -> None:
        self._now.append(action)

    def tick(self) -> bool:
        """The next moment; False if nothing was run in this one."""
        self._done.update(self._now)
        ran, self._now = bool(self._now), []
        return ran


def _weights_of(action: _Action) -> _Action:
    return action._replace(computation_type=BACKWARD_WEIGHT)


def interleaved_zero_bubble(ranks: int, local_stages: int, microbatches: int) -> Order:
    """The order of :func:`interleaved`, whose waits are filled with gradients of weights: a process puts off no more of
    them than there are processes before it."""
    queues = {
        rank: [
            each._replace(computation_type=BACKWARD_INPUT) if each.computation_type is FULL_BACKWARD else each
            for each in actions
        ]
        for rank, actions in interleaved(ranks, local_stages, microbatches).items()
    }
    order: Order = {rank: [] for rank in queues}
    put_off: Order = {rank: [] for rank in queues}
    clock = _Clock(ranks * local_stages)
    while any(queues.values()) or any(put_off.values()):
        for rank, queue in queues.items():
            waits = not queue or not clock.can(queue[0])
            if put_off[rank] and (waits or len(put_off[rank]) > rank):
                action = put_off[rank].pop(0)
            elif waits:
                continue
            else:
                action = queue.pop(0)
                if action.computation_type is BACKWARD_INPUT:
                    put_off[rank].append(_weights_of(action))
            order[rank].append(action)
            clock.run(action)
        clock.tick()
    return order


def v_shaped(ranks: int) -> dict[int, int]:
    """The process of each stage, two on each: down from the first process to the last, and back up."""
    return {stage: min(stage, 2 * ranks - 1 - stage) for stage in range(2 * ranks)}


def v_zero_bubble(ranks: int, microbatches: int) -> Order:
    """What brings a microbatch nearest to its end goes first, on stages in a V; a process keeps no more microbatches
    than one forward and one backward in turn would."""
    stages = 2 * ranks
    order: Order = {rank: [] for rank in range(ranks)}
    put_off: Order = {rank: [] for rank in range(ranks)}
    next_of = {(stage, kind): 0 for stage in range(stages) for kind in (FORWARD, BACKWARD_INPUT)}
    kept = dict.fromkeys(range(ranks), 0)
    clock = _Clock(stages)

    def chosen(rank: int) -> _Action | None:
        down, up = rank, stages - 1 - rank
        backward = [(stage, BACKWARD_INPUT) for stage in (up, down)]
        backward.sort(key=lambda one: next_of[one])
        for stage, kind in (*backward, (up, FORWARD), (down, FORWARD)):
            action = _Action(stage, kind, next_of[stage, kind])
            full = (stage, kind) == (down, FORWARD) and kept[rank] + 1 >= stages
            if action.microbatch_index < microbatches and clock.can(action) and not full:
                next_of[stage, kind] += 1
                return action
        return put_off[rank].pop(0) if put_off[rank] else None

    while any(len(actions) < 6 * microbatches for actions in order.values()):
        for rank in range(ranks):
            action = chosen(rank)
            if action is None:
                continue
            kept[rank] += {FORWARD: 1, BACKWARD_WEIGHT: -1}.get(action.computation_type, 0)
            if action.computation_type is BACKWARD_INPUT:
                put_off[rank].append(_weights_of(action))
            order[rank].append(action)
            clock.run(action)
        clock.tick()
    return order


class _Process:
    """The actions of a process with two stages, as they are appended."""

    def __init__(self, *stages: int) -> None:
        self._stages, self._counts = stages, [{True: 0, False: 0} for _ in stages]
        self.actions: list[_Action] = []
        self._put_off: list[_Action] = []

    def run(self, local: int, kind: _ComputationType) -> None:
        """The next microbatch of a stage."""
        count, forward = self._counts[local], kind is FORWARD
        self.actions.append(_Action(self._stages[local], kind, count[forward]))
        count[forward] += 1
        if kind is BACKWARD_INPUT:
            self._put_off.append(_weights_of(self.actions[-1]))

    def weights(self) -> None:
        """What was put off first."""
        self.actions.append(self._put_off.pop(0))

    def rest(self) -> list[_Action]:
        return self.actions + self._put_off


def dual_pipe_v(ranks: int, microbatches: int) -> Order:
    """DualPipeV (DeepSeek, after arXiv 2412.19437): a microbatch forward on the way down beside one backward on the way
    up. Backward passes are in halves only where somebody waits, at the beginning and at the end."""
    if microbatches < 2 * ranks:
        raise ValueError(
            f"DualPipeV requires at least as many microbatches as stages, but got {microbatches} microbatches and "
            f"{2 * ranks} stages."
        )
    order: Order = {}
    for rank in range(ranks):
        made = _Process(rank, 2 * ranks - 1 - rank)
        after = ranks - rank - 1  # processes
        for _ in range(2 * after):
            made.run(0, FORWARD)
        for _ in range(rank + 1):
            made.run(0, FORWARD)
            made.run(1, FORWARD)
        for _ in range(after):
            made.run(1, BACKWARD_INPUT)
            made.weights()
            made.run(1, FORWARD)
        for _ in range(microbatches - 2 * ranks + rank + 1):
            made.run(0, FORWARD)
            made.run(1, FULL_BACKWARD)
            made.run(1, FORWARD)
            made.run(0, FULL_BACKWARD)
        for _ in range(after):
            made.run(1, FULL_BACKWARD)
            made.run(1, FORWARD)
            made.run(0, FULL_BACKWARD)
        middle = (rank + 1) // 2
        for turn in range(rank + 1):
            made.run(1, BACKWARD_INPUT if turn + rank % 2 > middle else FULL_BACKWARD)
            made.run(0, BACKWARD_INPUT if turn >= middle else FULL_BACKWARD)
        for _ in range(after):
            made.weights()
            made.run(0, BACKWARD_INPUT)
        order[rank] = made.rest()
    return order
