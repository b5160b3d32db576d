"""Two snapshots beside each other: what grew, by line of code, by category, by size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _lifetimes, _model
from ._replay import text_of

_SIZES = [(512, "512 B"), (4 << 10, "4 KiB"), (64 << 10, "64 KiB"), (1 << 20, "1 MiB"), (10 << 20, "10 MiB"),
          (100 << 20, "100 MiB"), (1 << 30, "1 GiB")]  # fmt: skip


@dataclass
class Change:
    what: str
    before_bytes: int
    after_bytes: int
    before_blocks: int
    after_blocks: int

    @property
    def grown(self) -> int:
        return self.after_bytes - self.before_bytes


@dataclass
class Difference:
    """Changes of live memory, the largest first. Totals are (before, after)."""

    allocated: tuple[int, int]
    reserved: tuple[int, int]
    stacks: list[Change]
    categories: list[Change]
    sizes: list[Change]

    def __str__(self) -> str:
        lines = [
            f"allocated  {text_of(self.allocated[0])} -> {text_of(self.allocated[1])} "
            f"({_signed(self.allocated[1] - self.allocated[0])})",
            f"reserved   {text_of(self.reserved[0])} -> {text_of(self.reserved[1])} "
            f"({_signed(self.reserved[1] - self.reserved[0])})",
        ]
        for title, changes in (
            ("by line", self.stacks), ("by category", self.categories), ("by size", self.sizes),
        ):  # fmt: skip
            lines.append(f"\n{title}:")
            shown = [change for change in changes if change.before_bytes != change.after_bytes][:20]
            lines += [
                f"  {_signed(change.grown):>14}  {change.before_blocks:>6} -> {change.after_blocks:<6} blocks  "
                f"{change.what}"
                for change in shown
            ] or ["  nothing changed"]
        return "\n".join(lines)


def _signed(bytes_: int) -> str:
    return ("+" if bytes_ >= 0 else "-") + text_of(abs(bytes_))


def size_class(size: int) -> str:
    last = "0"
    for limit, name in _SIZES:
        if size <= limit:
            return f"{last} to {name}"
        last = name
    return f"more than {last}"


def _live(snapshot: _model.Snapshot, device: _model.Device) -> list[tuple[int, str, str]]:
    """(bytes, line, category) of what is there at the end."""
    found = _lifetimes.lifetimes(snapshot, device)
    ends = len(device.history)
    category = {
        int(address): int(kind)
        for address, kind, end in zip(found.address, found.category, found.end, strict=True)
        if end == ends
    }
    stacks = {
        int(address): int(stack)
        for address, stack, end in zip(found.address, found.stack, found.end, strict=True)
        if end == ends
    }
    result = []
    for segment in device.segments:
        for block in segment.blocks:
            if block.is_live:
                stack = snapshot.stacks[block.stack or stacks.get(block.address, 0)]
                kind = _lifetimes.CATEGORIES[category.get(block.address, _lifetimes.UNKNOWN)]
                result.append((block.size, _model.place_of(stack), kind))
    return result


def _changes(before: list[Any], after: list[Any], key: Callable[[Any], str]) -> list[Change]:
    counts: dict[str, list[int]] = {}
    for side, blocks in enumerate((before, after)):
        sizes: Counter[str] = Counter()
        numbers: Counter[str] = Counter()
        for block in blocks:
            sizes[key(block)] += block[0]
            numbers[key(block)] += 1
        for name in sizes:
            entry = counts.setdefault(name, [0, 0, 0, 0])
            entry[side], entry[2 + side] = sizes[name], numbers[name]
    changes = [Change(name, *entry) for name, entry in counts.items()]
    return sorted(changes, key=lambda change: (-abs(change.grown), change.what))


def diff(before: _model.Snapshot, after: _model.Snapshot, device: int | None = None) -> Difference:
    """What ``after`` holds and ``before`` does not, and the other way round."""
    first, second = before.device(device), after.device(device)
    one, two = _live(before, first), _live(after, second)
    return Difference(
        (first.allocated, second.allocated), (first.reserved, second.reserved),
        _changes(one, two, lambda block: block[1]), _changes(one, two, lambda block: block[2]),
        _changes(one, two, lambda block: size_class(block[0])),
    )  # fmt: skip
