"""Who is behind, from how far each process is in a group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .recorder import Position


def ranks_named(ranks: Iterable[int]) -> str:
    """``rank 1`` or ``ranks 0, 2``."""
    found = sorted(ranks)
    return f"rank{'s' * (len(found) > 1)} {', '.join(map(str, found))}"


def _grouped(positions: Mapping[int, Position]) -> list[tuple[Position, list[int]]]:
    """Ranks that are equally far, those that are furthest behind first."""
    found: dict[tuple[int, str], list[int]] = {}
    for rank, at in positions.items():
        found.setdefault((at.created, at.name), []).append(rank)
    return [(positions[ranks[0]], ranks) for _, ranks in sorted(found.items())]


def _at(position: Position) -> str:
    return f"{position.name} (number {position.created})" if position.created else "none yet"


def verdict(positions: Mapping[int, Position | None]) -> str:
    """One sentence for people; ``None`` is a process that does not answer. Empty: nobody is behind."""
    silent = [rank for rank, at in positions.items() if at is None]
    known = {rank: at for rank, at in positions.items() if at is not None}
    said = []
    if silent:
        are = "does" if len(silent) == 1 else "do"
        said.append(f"{ranks_named(silent)} {are} not answer, being gone or stuck")
    furthest = max((at.created for at in known.values()), default=0)
    late = {rank: at for rank, at in known.items() if at.created < furthest}
    ahead = {rank: at for rank, at in known.items() if at.created == furthest}
    for at, ranks in _grouped(late):
        is_done = ", which is done" if at.created and at.ended >= at.created else ""
        verbs = "is behind: its" if len(ranks) == 1 else "are behind: their"
        said.append(f"{ranks_named(ranks)} {verbs} last collective is {_at(at)}{is_done}")
    front = _grouped(ahead)
    if furthest and (said or len(front) > 1):
        said += [f"{ranks_named(ranks)} called {_at(at)}" for at, ranks in front]
    return "; ".join(said)
