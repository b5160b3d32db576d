"""What each process of a pipeline does in which order: the schedules as plain lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple


class _ComputationType(Enum):
    """What is computed for a microbatch."""

    FORWARD = "F"
    FULL_BACKWARD = "B"

    def __str__(self) -> str:
        return self.value


FORWARD, FULL_BACKWARD = _ComputationType.FORWARD, _ComputationType.FULL_BACKWARD


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
