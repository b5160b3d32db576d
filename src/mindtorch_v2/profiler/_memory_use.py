"""What an operator did with memory, in numbers that mean one thing each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class MemoryUse:
    """Bytes, inside an event and the events in it, on the device that the event ran on."""

    __slots__ = ("_now", "allocated", "freed_others", "freed_own", "peak")

    def __init__(self) -> None:
        self.allocated = 0  # handed out
        self.freed_own = 0  # given back again, of what was handed out inside
        self.freed_others = 0  # given back, of what somebody else had been handed
        self.peak = 0  # the most above what was there at the beginning
        self._now = 0

    @property
    def retained(self) -> int:
        """Handed out inside and still there at the end."""
        return self.allocated - self.freed_own

    def change(self, size: int, own: bool) -> None:
        self._now += size
        self.peak = max(self.peak, self._now)
        if size > 0:
            self.allocated += size
        elif own:
            self.freed_own -= size
        else:
            self.freed_others -= size

    def add(self, other: MemoryUse) -> None:
        """Sums; of peaks, the highest."""
        self.allocated += other.allocated
        self.freed_own += other.freed_own
        self.freed_others += other.freed_others
        self.peak = max(self.peak, other.peak)

    def __repr__(self) -> str:
        return (
            f"MemoryUse(allocated={self.allocated}, freed_own={self.freed_own}, "
            f"freed_others={self.freed_others}, retained={self.retained}, peak={self.peak})"
        )


def attribute_memory(changes: Iterable[tuple[int, int, int, int, Any]]) -> None:
    """Tells events what happened to memory inside them.

    ``changes``: time, device or -1, address, bytes, and the innermost event around, or None.
    """
    makers: dict[tuple[int, int], Any] = {}  # of blocks that are handed out
    for _, device, address, size, innermost in sorted(changes, key=lambda change: change[0]):
        if size > 0:
            makers[device, address] = innermost
            own = frozenset[int]()
        else:
            own = frozenset(id(event) for event in _chain(makers.pop((device, address), None)))
        for event in _chain(innermost):
            if device < 0:
                event.cpu_memory_usage += size
            else:
                event.device_memory_usage += size
            if (device >= 0) == (event.device_index >= 0):
                if event.memory is None:
                    event.memory = MemoryUse()
                event.memory.change(size, id(event) in own)


def _chain(event: Any) -> Iterable[Any]:
    while event is not None:
        yield event
        event = event.cpu_parent
