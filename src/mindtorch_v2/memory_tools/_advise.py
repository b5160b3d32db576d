"""The settings that need least, and the smallest card that they fit on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import _model
from ._replay import Outcome, recorded_conf, replay, size_of, text_of

# What people try, and what the policy can do something with.
CANDIDATES = (
    "",
    "expandable_segments:True",
    "max_split_size_mb:32",
    "max_split_size_mb:128",
    "max_split_size_mb:512",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:8",
    "large_segment_size_mb:64",
    "max_split_size_mb:128,roundup_power2_divisions:8",
    "expandable_segments:True,roundup_power2_divisions:8",
)
CARDS = tuple(gib << 30 for gib in (4, 6, 8, 11, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128, 141, 192, 288))
_GRAIN = 2 << 20  # what segments are multiples of


@dataclass
class Advice:
    recorded: Outcome
    tried: list[Outcome]  # without a limit, the least reserved first
    best: Outcome
    smallest: int  # bytes of memory that the best settings still fit into
    smallest_as_recorded: int
    card: int | None  # the smallest of CARDS

    def __str__(self) -> str:
        name = self.best.conf or "the default settings"
        lines = [
            f"best settings: {name}",
            f"  reserves {text_of(self.best.peak_reserved)} without a limit; as recorded "
            f"{text_of(self.recorded.peak_reserved)}",
            f"smallest device memory: {text_of(self.smallest)} with it, "
            f"{text_of(self.smallest_as_recorded)} with the recorded settings "
            f"(tensors alone: {text_of(self.best.peak_allocated)})",
            "smallest common card: "
            + (text_of(self.card) if self.card is not None else "none; it needs more than 288 GiB"),
            "Memory that the driver and other processes take comes on top.",
        ]
        return "\n".join(lines)


def smallest_capacity(
    snapshot: _model.Snapshot, conf: str, device: int | None = None, progress: _model.Progress | None = None
) -> int:
    """The least memory, in steps of 2 MiB, on which the history does not run out of memory. What fits into some memory
    fits into more, but for rare cases; the answer itself was tried."""
    free = replay(snapshot, conf, None, device)
    low, high = max(free.peak_allocated // _GRAIN, 1), max(-(-free.peak_reserved // _GRAIN), 1)
    while low < high:
        middle = (low + high) // 2
        if replay(snapshot, conf, middle * _GRAIN, device).fits:
            high = middle
        else:
            low = middle + 1
        if progress:
            progress("searching the smallest memory", 1, max(high - low, 1))
    return high * _GRAIN


def advise(
    snapshot: _model.Snapshot,
    confs: Sequence[str] = CANDIDATES,
    capacity: int | str | None = None,
    device: int | None = None,
    progress: _model.Progress | None = None,
) -> Advice:
    """Replays the history under each of the settings and says which needs least memory; among equals, the one with the
    fewest calls of the device. With a capacity, only settings that fit into it are considered, if there are any."""
    recorded = replay(snapshot, None, None, device, progress)
    tried = []
    for number, conf in enumerate(confs):
        tried.append(replay(snapshot, conf, None, device))
        if progress:
            progress("trying settings", number + 1, len(confs))
    tried.sort(
        key=lambda found: (
            found.peak_reserved,
            found.device_allocations + found.device_frees,
            len(found.conf),
        )
    )
    eligible = tried
    if capacity is not None:
        room = size_of(capacity)
        fitting = [found for found in tried if replay(snapshot, found.conf, room, device).fits]
        eligible = fitting or tried
    needs = {found.conf: smallest_capacity(snapshot, found.conf, device, progress) for found in eligible[:3]}
    best = min(
        eligible[:3], key=lambda found: (needs[found.conf], found.peak_reserved, found.device_allocations)
    )
    smallest = needs[best.conf]
    own = recorded_conf(snapshot.settings)
    return Advice(
        recorded, tried, best, smallest, needs.get(own) or smallest_capacity(snapshot, own, device, progress),
        next((card for card in CARDS if card >= smallest), None),
    )  # fmt: skip
