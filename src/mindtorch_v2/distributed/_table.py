"""The contents of a store: keys with bytes, and queues. What waits for a key is the business of those who use it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from .errors import QueueEmptyError


def as_bytes(value: str | bytes | bytearray | memoryview) -> bytes:
    """A value of a store: text is UTF-8."""
    return value.encode() if isinstance(value, str) else bytes(value)


class Table:
    """Keys and queues of one store; not safe for several threads by itself."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._queues: dict[str, deque[bytes]] = {}

    def set(self, key: str, value: bytes) -> None:
        """Replaces the value."""
        self._values[key] = value

    def get(self, key: str) -> bytes:
        """The value of a key that is there."""
        return self._values[key]

    def has(self, keys: Iterable[str]) -> bool:
        """Whether all of them are there."""
        return all(key in self._values for key in keys)

    def add(self, key: str, amount: int) -> int:
        """Counts; a value is kept as its decimal digits, as PyTorch keeps it."""
        before = self._values.get(key, b"0")
        try:
            total = int(before) + amount
        except ValueError:
            raise ValueError(f"add: the value of {key!r} is no number but {before[:40]!r}") from None
        self._values[key] = str(total).encode()
        return total

    def append(self, key: str, value: bytes) -> None:
        """Puts the value behind what is there."""
        self._values[key] = self._values.get(key, b"") + value

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        """Replaces ``expected`` (nothing: an absent key) and gives what is there then."""
        if key not in self._values:
            if expected:
                return expected
            self._values[key] = desired
        elif self._values[key] == expected:
            self._values[key] = desired
        return self._values[key]

    def delete(self, key: str) -> bool:
        """Whether there was such a key."""
        return self._values.pop(key, None) is not None

    def keys(self) -> list[str]:
        """All of them, in no order."""
        return list(self._values)

    def push(self, queue: str, value: bytes) -> None:
        """Puts a value at the end of a queue."""
        self._queues.setdefault(queue, deque()).append(value)

    def length(self, queue: str) -> int:
        """How many values the queue has."""
        return len(self._queues.get(queue, ()))

    def pop(self, queue: str) -> bytes:
        """Takes the first value."""
        if not self.length(queue):
            raise QueueEmptyError("queue is empty")
        value = self._queues[queue].popleft()
        if not self._queues[queue]:
            del self._queues[queue]
        return value
