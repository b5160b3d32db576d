"""What a program asked of its memory, out of what was written down: see Note [Replay] in csrc/runtime/replay.h.

Note [Why a segment went back]
A history says that a segment went back to the device, not why. If the stack is that of the next allocation, the
allocator made room for it, and would decide again under other settings. Any other stack is the program's own doing
(empty_cache, a pool that died), which is repeated. Without stacks, what is followed by a new segment or an error is
taken for the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy

from . import _model as m

# StepKind in csrc/runtime/replay.h.
ALLOCATE, FREE, FREE_IN_USE, USE_ENDED, EMPTY_CACHE, EMPTY_POOL, FAIL, ADOPT, KEEP = range(9)
_GIVING_BACK = (m.SEGMENT_FREE, m.SEGMENT_UNMAP)
_GROWING = (m.SEGMENT_ALLOC, m.SEGMENT_MAP)
_LARGEST_SMALL = 1 << 20
_FIRST_OTHER_STREAM = (
    1 << 40
)  # stands for streams that still use a block; real ones are addresses or small numbers


@dataclass
class Beginning:
    """What was there when the history began."""

    segments: list[m.Segment] = field(default_factory=list)  # blocks: live ones and gaps
    live_bytes: int = 0
    blocks: int = 0


def _take_away(runs: dict[int, int], address: int, size: int) -> None:
    """From a set of ranges (start to end)."""
    end = address + size
    for start in [start for start, stop in runs.items() if start < end and stop > address]:
        stop = runs.pop(start)
        if start < address:
            runs[start] = address
        if stop > end:
            runs[end] = stop


def _merged(runs: dict[int, int]) -> list[tuple[int, int]]:
    result: list[tuple[int, int]] = []
    for start, stop in sorted(runs.items()):
        if result and result[-1][1] == start:
            result[-1] = (result[-1][0], stop)
        else:
            result.append((start, stop))
    return result


def beginning(device: m.Device, block_size: Any) -> Beginning:
    """The state before the first event: the state at the end, and the events backwards. ``block_size(bytes)`` is what
    the allocator makes of a request; it is needed for blocks that are gone by now."""
    history = device.history
    live: dict[int, tuple[int, int]] = {}  # size (0: not known), requested
    fixed: dict[int, tuple[int, int, int, bool]] = {}
    mapped: dict[int, int] = {}
    about: dict[int, tuple[int, int, bool]] = {}  # stream, pool, small of a mapped range
    for segment in device.segments:
        if segment.grows:
            mapped[segment.address] = segment.address + segment.size
            about[segment.address] = (segment.stream, segment.pool, segment.small)
        else:
            fixed[segment.address] = (segment.size, segment.stream, segment.pool, segment.small)
        for block in segment.blocks:
            if block.is_live:
                live[block.address] = (block.size, block.requested)
    if len(history) == 0:
        return Beginning()
    rows = zip(
        history.action.tolist(), history.address.tolist(), history.size.tolist(), history.stream.tolist(),
        history.pool.tolist(), strict=True,
    )  # fmt: skip
    for action, address, size, stream, pool in reversed(list(rows)):
        if action == m.ALLOC:
            live.pop(address, None)
        elif action == m.FREE_COMPLETED:
            live[address] = (0, size)
        elif action == m.SEGMENT_ALLOC:
            fixed.pop(address, None)
        elif action == m.SEGMENT_FREE:
            # Only small requests get segments of this size.
            fixed[address] = (size, stream, pool, size == 2 << 20)
        elif action == m.SEGMENT_MAP:
            _take_away(mapped, address, size)
        elif action == m.SEGMENT_UNMAP:
            mapped[address] = address + size
            about[address] = (stream, pool, size % (20 << 20) != 0)
    result = Beginning()
    places = sorted(live)
    starts = numpy.array(places, dtype=numpy.uint64) if places else numpy.zeros(0, numpy.uint64)

    def fill(address: int, size: int, stream: int, pool: int, small: bool, grows: bool) -> None:
        inside = places[slice(*numpy.searchsorted(starts, [address, address + size]).tolist())]
        blocks: list[m.Block] = []
        at = address
        for number, start in enumerate(inside):
            known, requested = live[start]
            limit = inside[number + 1] if number + 1 < len(inside) else address + size
            length = known or min(block_size(requested), limit - start)
            if not small and not grows and limit - start - length <= 1 << 20:
                length = limit - start  # too little to be cut off
            if start > at:
                blocks.append(m.Block(at, start - at, 0, "inactive", 0))
            blocks.append(m.Block(start, length, requested, "active_allocated", 0))
            result.live_bytes += length
            result.blocks += 1
            at = start + length
        if at < address + size:
            blocks.append(m.Block(at, address + size - at, 0, "inactive", 0))
        result.segments.append(m.Segment(address, size, stream, small, pool, grows, blocks))

    for address, (size, stream, pool, small) in sorted(fixed.items()):
        fill(address, size, stream, pool, small, False)
    for start, stop in _merged(mapped):
        known_at = max((key for key in about if key <= start), default=None)
        stream, pool, small = about[known_at] if known_at is not None else (0, 0, False)
        fill(start, stop - start, stream, pool, small, True)
    return result


@dataclass
class Steps:
    """What a replay is given. ``event`` is the event of the history that a step comes from, -1 for none."""

    rows: Any
    event: Any
    grants: Any  # (step, address, bytes) of segments that the device gave
    returns: Any  # (step, bytes) that went back before it gave more
    first: int  # the first step of the history itself
    known_before: Beginning
    without_segments: bool  # the history leaves out segments, so that nothing can be compared
    unmatched: int  # frees of blocks that nobody knows: the history lost their allocation


class _Maker:
    def __init__(self, device: m.Device, stacks: list[m.Stack], exact: bool, block_size: Any) -> None:
        self.device, self.stacks, self.exact = device, stacks, exact
        self.rows: list[tuple[int, int, int, int, int, int]] = []
        self.events: list[int] = []
        self.grants: list[tuple[int, int, int]] = []
        self.returns: list[tuple[int, int]] = []
        self.known_before = beginning(device, block_size)
        self.unmatched = 0
        self._keys = 0
        self._at: dict[int, int] = {}  # the key of the live block at an address
        self._in_use: dict[int, int] = {}  # what stands for the streams that use the block at an address

    def add(
        self,
        kind: int,
        key: int = 0,
        size: int = 0,
        stream: int = 0,
        pool: int = 0,
        other: int = 0,
        event: int = -1,
    ) -> None:
        self.rows.append((kind, key, size, stream, pool, other))
        self.events.append(event)

    def new_key(self, address: int) -> int:
        self._keys += 1
        self._at[address] = self._keys
        return self._keys

    def begin(self) -> None:
        """Lays out what was there. With other settings only the blocks are, in the order of their addresses."""
        gaps: list[int] = []
        # One segment at a time has free memory, so that each block lands where it was: whole free ones come last, and
        # gaps are allocated until all is laid out.
        for segment in sorted(
            self.known_before.segments, key=lambda s: len(s.blocks) == 1 and not s.blocks[0].is_live
        ):
            is_free = len(segment.blocks) == 1 and not segment.blocks[0].is_live
            if self.exact and not segment.grows:
                if is_free:
                    for key in gaps:
                        self.add(FREE, key)
                    gaps.clear()
                self.add(
                    ADOPT, segment.address, segment.size, segment.stream, segment.pool, int(segment.small)
                )
                if is_free:
                    continue
            elif self.exact:
                self.grants.append((len(self.rows), segment.address, segment.size))
            for block in segment.blocks:
                if not block.is_live:
                    for size in self._pieces(block.size, segment.small) if self.exact else ():
                        self._keys += 1
                        gaps.append(self._keys)
                        self.add(ALLOCATE, self._keys, size, segment.stream, segment.pool)
                    continue
                key = self.new_key(block.address)
                asked = block.size if self.exact else block.requested or block.size
                self.add(ALLOCATE, key, asked, segment.stream, segment.pool)
                if self.exact:
                    self.add(KEEP, key, block.requested)
        for key in gaps:
            self.add(FREE, key)

    @staticmethod
    def _pieces(size: int, small: bool) -> list[int]:
        """Requests that together fill a gap. The small pool serves none above 1 MiB."""
        most = _LARGEST_SMALL if small else size
        return [most] * (size // most) + ([size % most] if size % most else [])

    def run(self) -> Steps:
        self.begin()
        first = len(self.rows)
        history = self.device.history
        columns = [
            getattr(history, name).tolist()
            for name in ("action", "address", "size", "stream", "pool", "stack")
        ]
        actions, addresses, sizes, streams, pools, stacks = columns
        count, index = len(actions), 0
        waiting: list[tuple[int, int, int]] = []  # grants that belong to the next allocation
        returned = 0
        while index < count:
            action, address, size = actions[index], addresses[index], sizes[index]
            if action == m.ALLOC or action == m.OOM:
                step = len(self.rows)
                self.grants += [(step, at, bytes_) for _, at, bytes_ in waiting]
                if returned:
                    self.returns.append((step, returned))
                waiting, returned = [], 0
                kind, key = (FAIL, 0) if action == m.OOM else (ALLOCATE, self.new_key(address))
                self.add(kind, key, size, streams[index], pools[index], event=index)
            elif action == m.FREE_REQUESTED:
                done = (
                    index + 1 < count
                    and actions[index + 1] == m.FREE_COMPLETED
                    and addresses[index + 1] == address
                )
                self._free(address, index, in_use=not done)
                index += done
            elif action == m.FREE_COMPLETED:
                if address in self._in_use:
                    self.add(USE_ENDED, other=self._in_use.pop(address), event=index)
                else:  # requests to free were not recorded
                    self._free(address, index, in_use=False)
            elif action in _GROWING:
                waiting.append((index, address, size))
            elif action in _GIVING_BACK:
                stop = index
                while stop < count and actions[stop] in _GIVING_BACK:
                    stop += 1
                if self._makes_room(actions, stacks, index, stop):
                    returned += sum(sizes[index:stop])
                else:
                    self._emptied(set(pools[index:stop]), index)
                index = stop
                continue
            index += 1
        kinds = set(actions)
        return Steps(
            numpy.array(self.rows, dtype=numpy.int64).reshape(len(self.rows), 6),
            numpy.array(self.events, dtype=numpy.int64),
            numpy.array(self.grants, dtype=numpy.int64).reshape(len(self.grants), 3),
            numpy.array(self.returns, dtype=numpy.int64).reshape(len(self.returns), 2),
            first, self.known_before, m.ALLOC in kinds and not kinds & set(_GROWING) and not self.known_before.segments,
            self.unmatched,
        )  # fmt: skip

    def _free(self, address: int, index: int, in_use: bool) -> None:
        key = self._at.pop(address, None)
        if key is None:
            self.unmatched += 1
        elif in_use:
            other = _FIRST_OTHER_STREAM + len(self.rows)
            self._in_use[address] = other
            self.add(FREE_IN_USE, key, other=other, event=index)
        else:
            self.add(FREE, key, event=index)

    def _emptied(self, pools: Iterable[int], index: int) -> None:
        private = sorted(pool for pool in pools if pool)
        for pool in private:
            self.add(EMPTY_POOL, pool=pool, event=index)
        if 0 in set(pools):
            self.add(EMPTY_CACHE, event=index)

    def _makes_room(self, actions: list[int], stacks: list[int], start: int, stop: int) -> bool:
        """Note [Why a segment went back]."""
        end = stop
        grows = end < len(actions) and actions[end] in _GROWING
        while end < len(actions) and actions[end] in (*_GROWING, m.FREE_COMPLETED):
            end += 1
        for_a_request = end < len(actions) and actions[end] in (m.ALLOC, m.OOM)
        if not for_a_request:
            return False
        if stacks[start] and stacks[end]:
            return stacks[start] == stacks[end]
        return grows or actions[end] == m.OOM


def steps_of(device: m.Device, stacks: list[m.Stack], exact: bool, block_size: Any) -> Steps:
    return _Maker(device, stacks, exact, block_size).run()
