"""Which steps a step is made of."""

from __future__ import annotations

from typing import Any

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]


def traverse_dps(datapipe: Any) -> dict[int, tuple[Any, Any]]:
    """The graph below a step: ``{id: (step, graph below it)}``."""
    return _below(datapipe, set())


def _below(step: Any, above: set[int]) -> dict[int, tuple[Any, Any]]:
    if id(step) in above:
        return {}
    above = above | {id(step)}
    graph: dict[int, tuple[Any, Any]] = {}
    for source in _sources(list(vars(step).values())):
        graph.update(_below(source, above))
    return {id(step): (step, graph)}


def _sources(value: Any) -> list[Any]:
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [source for each in value for source in _sources(each)] if isinstance(value, (list, tuple)) else []


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> dict[int, tuple[Any, Any]]:
    """The older name of :func:`traverse_dps`."""
    return traverse_dps(datapipe)
