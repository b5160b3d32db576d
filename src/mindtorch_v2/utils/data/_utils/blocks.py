"""Shared memory that goes to the loader with a batch and comes back to its worker when the batch is gone.

Note [Blocks that come back]
New shared memory costs a worker more than filling it: the system has to find and clear every page. So a worker keeps
the blocks its batches lie in. The loader maps a block for every batch that arrives in it, sees from the storage's count
when nobody uses it any more, and says so with the next task; then the worker writes the next batch there. What either
process passes on to a third, or has when it forks, never comes back, because others may still read it (`returnable`).
Both sides forget a block after 32 tasks, so that batches which the program keeps cost nothing but themselves.
"""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

from .... import _C, uint8
from ...._storage import UntypedStorage
from ....multiprocessing.reductions import returnable

_REMEMBERED = 32  # tasks


def _handle_of_its_own(handle: Any) -> Any:
    """A further handle of the native storage, so that a count of one means: nobody else."""
    return _C.tensor_from_storage(handle, uint8, 0, [0], [1])._storage_handle()


class _Block:
    def __init__(self, name: int, handle: Any) -> None:
        self.name = name  # in messages
        self.handle = handle
        self.used = 0  # bytes, by the batch that is in it
        self.lent = 0  # messages with it that have not come back
        self.task = 0  # that took it last

    def fits(self, nbytes: int) -> bool:
        room: int = self.handle.nbytes()
        return self.lent == 0 and nbytes <= room <= 2 * nbytes and bool(self.handle.use_count() == 1)


class WorkerBlocks:
    """A worker's blocks, by the address of their native storage."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._names = itertools.count(1)
        self._task = 0

    def begin_task(self, returned: list[int]) -> None:
        """Notes what came back, and forgets what has not been used for long or was passed on."""
        self._task += 1
        for address, block in list(self._blocks.items()):
            block.lent -= returned.count(block.name)
            if address not in returnable:
                del self._blocks[address]
            elif block.task < self._task - _REMEMBERED:
                del self._blocks[address], returnable[address]

    def take(self, nbytes: int) -> UntypedStorage:
        """Shared memory of at least this size, contents undefined."""
        for address, block in self._blocks.items():
            if block.fits(nbytes) and address in returnable:
                block.used, block.task = nbytes, self._task
                return UntypedStorage._wrap(_handle_of_its_own(block.handle))
        storage = UntypedStorage._new_shared(nbytes)
        if storage._handle.descriptor() >= 0:
            handle = _handle_of_its_own(storage._handle)
            block = self._blocks[handle._cdata] = _Block(next(self._names), handle)
            block.used, block.task = nbytes, self._task
            returnable[handle._cdata] = handle
        return storage

    def lend(self, storage: UntypedStorage) -> tuple[int, int]:
        """What to call the storage in a message (0: it is not a block), and how many bytes of it count."""
        block = self._blocks.get(storage._handle._cdata)
        if block is None:
            return 0, storage.nbytes()
        block.lent += 1
        return block.name, block.used


class LentBlocks:
    """The loader's side: blocks of one worker that batches lie in. Two threads may use it."""

    def __init__(self) -> None:
        self._lent: deque[tuple[int, int, Any]] = deque()  # message, the worker's name for the block, handle
        self._messages = 0

    def begin_message(self) -> None:
        self._messages += 1

    def arrived(self, name: int, storage: UntypedStorage) -> None:
        handle = _handle_of_its_own(storage._handle)
        returnable[handle._cdata] = handle
        self._lent.append((self._messages, name, handle))

    def unused(self) -> list[int]:
        """The blocks that nobody here uses any more; they are the worker's again."""
        found = []
        for _ in range(len(self._lent)):
            message, name, handle = entry = self._lent.popleft()
            if handle._cdata not in returnable:  # others may read it
                continue
            if handle.use_count() == 1:
                found.append(name)
            elif message >= self._messages - _REMEMBERED:
                self._lent.append(entry)
                continue
            del returnable[handle._cdata]
        return found

    def forget(self) -> None:
        while self._lent:
            returnable.pop(self._lent.popleft()[2]._cdata, None)
