"""Settings of all steps that a step is made of: order, seeds, shares of workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mindtorch_v2 as torch

from .datapipes.iter.combinatorics import ShufflerIterDataPipe
from .datapipes.iter.sharding import SHARDING_PRIORITIES
from .datapipes.map import Shuffler
from .graph import traverse_dps

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def get_all_graph_pipes(graph: Any) -> list[Any]:
    """Every step of a graph once."""
    return list({id(step): step for step in _steps(graph)}.values())


def _steps(graph: Any) -> Iterator[Any]:
    for step, below in graph.values():
        yield step
        yield from _steps(below)


def apply_sharding(
    datapipe: Any,
    num_of_instances: int,
    instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> Any:
    """Tells the steps that give workers their shares which one this is."""

    def apply(graph: Any, inside: Any) -> None:
        for step, below in graph.values():
            own = hasattr(step, "apply_sharding")
            if own and inside is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                    f"Sharding already applied to {inside} while trying to apply to {step}"
                )
            if own:
                step.apply_sharding(num_of_instances, instance_id, sharding_group=sharding_group)
            apply(below, step if own else inside)

    apply(traverse_dps(datapipe), None)
    return datapipe


def _shufflers(datapipe: Any) -> list[Any]:
    return [
        step
        for step in get_all_graph_pipes(traverse_dps(datapipe))
        if isinstance(step, (ShufflerIterDataPipe, Shuffler))
        or callable(getattr(step, "set_shuffle", None))
        and callable(getattr(step, "set_seed", None))
    ]


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switches the steps that change the order on or off; None leaves them. Without one, True adds it."""
    if shuffle is None:
        return datapipe
    found = _shufflers(datapipe)
    if not found and shuffle:
        datapipe = datapipe.shuffle()
        found = [datapipe]
    for step in found:
        step.set_shuffle(shuffle)
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """The older name of :func:`apply_random_seed`."""
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe: Any, rng: torch.Generator) -> Any:
    """Gives every step that draws by chance a seed from a generator."""
    for step in get_all_graph_pipes(traverse_dps(datapipe)):
        if callable(getattr(step, "set_seed", None)):
            step.set_seed(int(torch.empty((), dtype=torch.int64).random_(generator=rng).item()))
    return datapipe
