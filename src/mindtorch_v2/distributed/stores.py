"""Stores: keys and bytes that processes share while they find each other.

All have one interface (:class:`Store`). What a store must do itself is little; the rest is made of that.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from ._table import Table, as_bytes
from .errors import DistStoreError

DEFAULT_TIMEOUT = timedelta(seconds=300)
_PAUSE = 0.01  # seconds between two looks at a file


class Store(ABC):
    """Keys and bytes that several processes see."""

    def __init__(self) -> None:
        self._timeout = DEFAULT_TIMEOUT

    @property
    def timeout(self) -> timedelta:
        """How long :meth:`get` and :meth:`wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """How long :meth:`get` and :meth:`wait` wait from now on."""
        self._timeout = timeout

    @abstractmethod
    def set(self, key: str, value: str | bytes) -> None:
        """Gives the key a value."""

    @abstractmethod
    def get(self, key: str) -> bytes:
        """The value of a key, as soon as it has one."""

    @abstractmethod
    def add(self, key: str, amount: int) -> int:
        """Adds to a counter, which begins at 0; gives what it is then."""

    @abstractmethod
    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Returns as soon as all keys have values."""

    @abstractmethod
    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys have values now."""

    @abstractmethod
    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Sets the key if its value is the expected one (empty: if it has none); gives the value it has then."""

    @abstractmethod
    def delete_key(self, key: str) -> bool:
        """Whether there was such a key."""

    @abstractmethod
    def num_keys(self) -> int:
        """How many keys have values."""

    @abstractmethod
    def append(self, key: str, value: str | bytes) -> None:
        """Puts bytes behind those that the key has."""

    @abstractmethod
    def list_keys(self) -> list[str]:
        """The keys that have values."""

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Puts a value at the end of a queue."""
        raise NotImplementedError(f"{type(self).__name__} has no queues")

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Takes the first value of a queue; waits for one if ``block``."""
        raise NotImplementedError(f"{type(self).__name__} has no queues")

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        raise NotImplementedError(f"{type(self).__name__} has no queues")

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Gives each key its value."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of the keys, as soon as all have one."""
        return [self.get(key) for key in keys]

    def has_extended_api(self) -> bool:
        """Whether append, multi_get and multi_set are there: always."""
        return True

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Returns as soon as ``world_size`` processes have called it with this key."""
        if self.add(f"{key}/num_members", 1) == world_size:
            self.set(f"{key}/last_member", "1")
        self.wait([f"{key}/last_member"], timeout or self._timeout)

    def clone(self) -> Store:
        """A store with the same contents, for another thread."""
        return self


class HashStore(Store):
    """A store of one process, for its threads."""

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()
        self._changed = threading.Condition()

    def _until(self, ready: Callable[[], bool], timeout: timedelta) -> None:
        if not self._changed.wait_for(ready, timeout.total_seconds()):
            raise DistStoreError("Wait timeout")

    @contextmanager
    def _changing(self) -> Iterator[Table]:
        with self._changed:
            yield self._table
            self._changed.notify_all()

    def set(self, key: str, value: str | bytes) -> None:
        with self._changing() as table:
            table.set(key, as_bytes(value))

    def get(self, key: str) -> bytes:
        with self._changed:
            self._until(lambda: self._table.has([key]), self._timeout)
            return self._table.get(key)

    def add(self, key: str, amount: int) -> int:
        with self._changing() as table:
            return table.add(key, amount)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        with self._changed:
            self._until(lambda: self._table.has(keys), timeout or self._timeout)

    def check(self, keys: Sequence[str]) -> bool:
        with self._changed:
            return self._table.has(keys)

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        with self._changing() as table:
            return table.compare_set(key, as_bytes(expected_value), as_bytes(desired_value))

    def delete_key(self, key: str) -> bool:
        with self._changing() as table:
            return table.delete(key)

    def num_keys(self) -> int:
        with self._changed:
            return len(self._table.keys())

    def append(self, key: str, value: str | bytes) -> None:
        with self._changing() as table:
            table.append(key, as_bytes(value))

    def list_keys(self) -> list[str]:
        with self._changed:
            return self._table.keys()

    def queue_push(self, key: str, value: str | bytes) -> None:
        with self._changing() as table:
            table.push(key, as_bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        with self._changed:
            if block:
                self._until(lambda: self._table.length(key) > 0, self._timeout)
            return self._table.pop(key)

    def queue_len(self, key: str) -> int:
        with self._changed:
            return self._table.length(key)


class PrefixStore(Store):
    """Another store, with a prefix before every key."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix, self._store = prefix, store

    @property
    def underlying_store(self) -> Store:
        """The store that has the keys."""
        return self._store

    @property
    def prefix(self) -> str:
        """What stands before the keys."""
        return self._prefix

    @property
    def timeout(self) -> timedelta:
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self._store.set_timeout(timeout)

    def _name(self, key: str) -> str:
        return f"{self._prefix}/{key}"

    def _names(self, keys: Sequence[str]) -> list[str]:
        return [self._name(key) for key in keys]

    def set(self, key: str, value: str | bytes) -> None:
        self._store.set(self._name(key), value)

    def get(self, key: str) -> bytes:
        return self._store.get(self._name(key))

    def add(self, key: str, amount: int) -> int:
        return self._store.add(self._name(key), amount)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._store.wait(self._names(keys), timeout)

    def check(self, keys: Sequence[str]) -> bool:
        return self._store.check(self._names(keys))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        return self._store.compare_set(self._name(key), expected_value, desired_value)

    def delete_key(self, key: str) -> bool:
        return self._store.delete_key(self._name(key))

    def num_keys(self) -> int:
        return self._store.num_keys()

    def append(self, key: str, value: str | bytes) -> None:
        self._store.append(self._name(key), value)

    def list_keys(self) -> list[str]:
        start = self._name("")
        return [key.removeprefix(start) for key in self._store.list_keys() if key.startswith(start)]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        self._store.multi_set(self._names(keys), values)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._store.multi_get(self._names(keys))

    def queue_push(self, key: str, value: str | bytes) -> None:
        self._store.queue_push(self._name(key), value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self._store.queue_pop(self._name(key), block)

    def queue_len(self, key: str) -> int:
        return self._store.queue_len(self._name(key))

    def clone(self) -> Store:
        return PrefixStore(self._prefix, self._store.clone())


class FileStore(Store):
    """A store in a file that the processes share.

    The file is a log: each change is a record at its end (an operation, key and value with their lengths), written
    under a lock; reading it from where one left off gives the table.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self._path = Path(file_name)
        self._table = Table()
        self._read = 0  # bytes of the file that the table knows
        self._lock = threading.Lock()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._world_size = world_size
        with self._opened(write=True):
            pass

    @property
    def path(self) -> str:
        """The file."""
        return str(self._path)

    @contextmanager
    def _opened(self, write: bool) -> Iterator[Any]:
        """The file, locked, with everything in it read."""
        with self._lock, open(self._path, "ab+" if write else "rb", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX if write else fcntl.LOCK_SH)
            self._catch_up(file)
            yield file

    def _catch_up(self, file: Any) -> None:
        size = os.fstat(file.fileno()).st_size
        if size < self._read:  # another run has begun with an empty file
            self._table, self._read = Table(), 0
        file.seek(self._read)
        fresh = file.read(size - self._read)
        at = 0
        while at < len(fresh):
            kind = fresh[at : at + 1]
            key, at = self._field(fresh, at + 1)
            value, at = self._field(fresh, at)
            if kind == b"s":
                self._table.set(key.decode(), value)
            else:
                self._table.delete(key.decode())
        self._read += len(fresh)

    @staticmethod
    def _field(data: bytes, at: int) -> tuple[bytes, int]:
        length = int.from_bytes(data[at : at + 8], "little")
        return data[at + 8 : at + 8 + length], at + 8 + length

    def _write(self, file: Any, kind: bytes, key: str, value: bytes = b"") -> None:
        fields = (len(part).to_bytes(8, "little") + part for part in (key.encode(), value))
        file.write(kind + b"".join(fields))
        self._catch_up(file)

    def set(self, key: str, value: str | bytes) -> None:
        with self._opened(write=True) as file:
            self._write(file, b"s", key, as_bytes(value))

    def get(self, key: str) -> bytes:
        self._look_for([key], self._timeout, f"Timeout waiting for key: {key}")
        with self._opened(write=False):
            return self._table.get(key)

    def _look_for(self, keys: Sequence[str], timeout: timedelta, why: str) -> None:
        end = time.monotonic() + timeout.total_seconds()
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(f"{why} after {timeout.total_seconds() * 1000:.0f} ms")
            time.sleep(_PAUSE)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._look_for(keys, timeout or self._timeout, f"Timeout waiting for keys: {', '.join(keys)}")

    def check(self, keys: Sequence[str]) -> bool:
        with self._opened(write=False):
            return self._table.has(keys)

    def add(self, key: str, amount: int) -> int:
        with self._opened(write=True) as file:
            total = self._table.add(key, amount)
            self._write(file, b"s", key, str(total).encode())
            return total

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        with self._opened(write=True) as file:
            had = self._table.has([key])
            now = self._table.compare_set(key, as_bytes(expected_value), as_bytes(desired_value))
            if had or self._table.has([key]):
                self._write(file, b"s", key, now)
            return now

    def delete_key(self, key: str) -> bool:
        with self._opened(write=True) as file:
            had = self._table.has([key])
            if had:
                self._write(file, b"d", key)
            return had

    def num_keys(self) -> int:
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        with self._opened(write=False):
            return self._table.keys()

    def append(self, key: str, value: str | bytes) -> None:
        with self._opened(write=True) as file:
            self._table.append(key, as_bytes(value))
            self._write(file, b"s", key, self._table.get(key))
