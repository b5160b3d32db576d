"""What grows step after step, and who holds it: ``torch.<device>.memory.track_leaks``.

Note [What a leak is]
A program at work has the same memory at the end of each step. What is counted, at each ``step()``, is live memory by
the line that allocated it, memory that waits for a stream, and streams that have memory cached. A count that never
falls over the steps that are looked at, rises in at least half of them and still rises at the end, grows. The first
steps are not looked at: optimizers make their state and caches fill.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from . import holders as _holders
from . import pools as _pools

_MOST_SHOWN = 20


@dataclass
class Leak:
    """Something that grows. ``line`` is where it is allocated; ``holders`` are the ways to some of it, the oldest
    first."""

    what: str  # "tensors", "memory that waits for a stream", "memory cached for streams"
    line: str
    bytes_per_step: float
    blocks_per_step: float
    bytes_now: int
    holders: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        text = (
            f"{self.what} from {self.line}: +{self.bytes_per_step / 1024:.1f} KiB and +{self.blocks_per_step:.1f} "
            f"blocks a step, {self.bytes_now / 1024:.1f} KiB now"
        )
        return "\n".join([text, *(f"    held by {holder}" for holder in self.holders)])


@dataclass
class _State:
    """The end of a step."""

    bytes: Counter[tuple[str, int]]
    blocks: Counter[tuple[str, int]]
    addresses: dict[tuple[str, int], list[int]]


class LeakTracker:
    """Tells what grows between calls of :meth:`step`."""

    def __init__(self, device_type: str, allocators: Callable[[], list[Any]], warm_up: int) -> None:
        if not isinstance(warm_up, int) or isinstance(warm_up, bool) or warm_up < 0:
            raise ValueError(f"warm_up is a number of steps, but got {warm_up!r}")
        self._type, self._allocators, self._warm_up = device_type, allocators, warm_up
        self._states: list[_State] = []
        self._seen: dict[int, int] = {}  # the step at whose end an address was first live
        self._recording: list[Any] = []

    def __enter__(self) -> Self:
        for allocator in self._allocators():
            if not allocator._native.snapshot(False)["settings"]["trace_alloc_max_entries"]:
                allocator.record_memory_history(1)
                self._recording.append(allocator)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for allocator in self._recording:
            allocator.record_memory_history(0, clear=True)
        self._recording.clear()

    def step(self) -> None:
        """The end of a step: what is alive now is counted."""
        state = _State(Counter(), Counter(), {})
        streams = set()
        for allocator in self._allocators():
            for segment in allocator._native.snapshot(False)["segments"]:
                streams.add((allocator.device_id, segment["stream"]))
                for block in segment["blocks"]:
                    if block["state"] == "inactive":
                        continue
                    waits = block["state"] == "active_pending_free"
                    key = ("waiting" if waits else "tensors", block["stack"])
                    state.bytes[key] += block["size"]
                    state.blocks[key] += 1
                    state.addresses.setdefault(key, []).append(block["address"])
        reserved = sum(
            int(allocator._native.stat("reserved_bytes.all.current")) for allocator in self._allocators()
        )
        state.bytes["streams", 0], state.blocks["streams", 0] = reserved, len(streams)
        live = {address for found in state.addresses.values() for address in found}
        number = len(self._states)
        self._seen = {address: self._seen.get(address, number) for address in live}
        self._states.append(state)

    def leaks(self) -> list[Leak]:
        """What grows, the fastest first."""
        states = self._states[self._warm_up :]
        if len(states) < 3:
            raise RuntimeError(
                f"leaks need at least {self._warm_up + 3} steps ({self._warm_up} to warm up, 3 to compare), but step() "
                f"was called {len(self._states)} times"
            )
        growing = [key for key in states[-1].blocks if grows([state.blocks[key] for state in states])]
        sample = {
            key: self._oldest(states[-1].addresses.get(key, [])) for key in growing if key[0] == "tensors"
        }
        found = _holders.Holders(
            self._type,
            {a for addresses in sample.values() for a in addresses},
            [self, self._states, self._seen],
        )
        result = []
        for key in growing:
            steps = len(states) - 1
            ways = list(dict.fromkeys(found.ways[a] for a in sample.get(key, ()) if a in found.ways))
            if key[0] == "tensors" and not ways:
                ways = ["native code: no name of Python reaches it"]
            result.append(
                Leak(
                    _TITLES[key[0]],
                    self._current_stream() if key[0] == "streams" else _pools.stacks.describe(key[1]),
                    (states[-1].bytes[key] - states[0].bytes[key]) / steps,
                    (states[-1].blocks[key] - states[0].blocks[key]) / steps,
                    states[-1].bytes[key],
                    ways,
                )
            )
        return sorted(result, key=lambda leak: -leak.bytes_per_step)

    def _oldest(self, addresses: list[int]) -> list[int]:
        """Of the blocks that came after the first steps: what an earlier step left is what leaks."""
        late = [address for address in addresses if self._seen[address] >= max(self._warm_up, 1)]
        return sorted(late or addresses, key=lambda address: self._seen[address])[:3]

    def _current_stream(self) -> str:
        return "streams that the program makes and does not leave: each keeps memory for itself alone"

    def report(self) -> str:
        """The leaks as text."""
        found = self.leaks()
        if not found:
            return f"nothing grows over {len(self._states) - self._warm_up} steps"
        lines = [str(leak) for leak in found[:_MOST_SHOWN]]
        if len(found) > _MOST_SHOWN:
            lines.append(f"and {len(found) - _MOST_SHOWN} more")
        return "\n".join(lines)


_TITLES = {
    "tensors": "tensors",
    "waiting": "memory that waits for a stream",
    "streams": "memory cached for streams",
}


def grows(counts: list[int]) -> bool:
    """Note [What a leak is]."""
    changes = [after - before for before, after in zip(counts, counts[1:], strict=False)]
    late = changes[-max(len(changes) // 3, 1) :]
    rises = sum(change > 0 for change in changes)
    return min(changes) >= 0 and 2 * rises >= len(changes) and any(change > 0 for change in late)
