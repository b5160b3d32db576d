"""How processes that start alone find each other: an address gives a store, a rank and a number of processes.

Note [Worlds of a server]
A program may end its world and make another at the same address, and processes are not equally fast: one may come for
the second world while another still reads keys of the first. So the server stays, and whoever comes is counted: the
first N form a world of N, the next N another, each with keys of its own. A process that serves and has ended its
world waits at its own end, for a short time, until the others have ended theirs.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from .constants import default_pg_timeout
from .errors import DistError, DistStoreError
from .stores import FileStore, PrefixStore, Store
from .tcp_store import TCPStore

_FAREWELL = timedelta(seconds=5)
_handlers: dict[str, Callable[..., Iterator[tuple[Store, int, int]]]] = {}


def register_rendezvous_handler(
    scheme: str, handler: Callable[..., Iterator[tuple[Store, int, int]]]
) -> None:
    """Makes ``scheme://…`` an address."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, **kwargs: Any
) -> Iterator[tuple[Store, int, int]]:
    """A generator of (store, rank, number of processes)."""
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    scheme = urlparse(url).scheme or "file"
    handler = _handlers.get(scheme)
    if handler is None:
        raise RuntimeError(f"No rendezvous handler for {scheme}://; known are {', '.join(sorted(_handlers))}")
    return handler(url, rank, world_size, **kwargs)


def _asked(url: str, rank: int, world_size: int) -> tuple[int, int]:
    """Rank and number of processes: from the address, where the caller did not say."""
    query = parse_qs(urlparse(url).query)
    found = []
    for name, given in (("rank", rank), ("world_size", world_size)):
        if given == -1:
            if name not in query:
                raise ValueError(
                    f"Error initializing torch.distributed using {url}: {name} parameter missing"
                )
            given = int(query[name][0])
        found.append(given)
    return checked(found[0], found[1])


def checked(rank: int, world_size: int) -> tuple[int, int]:
    """Both, if one fits the other."""
    if not 0 <= rank < world_size:
        raise ValueError(
            f"rank {rank} is not one of the {world_size} processes, which are 0 to {world_size - 1}"
        )
    return rank, world_size


def _from_file(
    url: str, rank: int, world_size: int, timeout: timedelta = default_pg_timeout, **kwargs: Any
) -> Iterator[tuple[Store, int, int]]:
    path = urlparse(url).path
    if not path:
        raise ValueError(f"Error initializing torch.distributed using {url}: path missing")
    rank, world_size = _asked(url, rank, world_size)
    store = FileStore(path, world_size)
    store.set_timeout(timeout)
    yield store, rank, world_size


def _from_tcp(
    url: str, rank: int, world_size: int, timeout: timedelta = default_pg_timeout, **kwargs: Any
) -> Iterator[tuple[Store, int, int]]:
    address = urlparse(url)
    if address.port is None or not address.hostname:
        raise ValueError(f"Error initializing torch.distributed using {url}: port number missing")
    rank, world_size = _asked(url, rank, world_size)
    yield _tcp_store(address.hostname, address.port, rank, world_size, timeout), rank, world_size


def _from_environment(
    url: str, rank: int, world_size: int, timeout: timedelta = default_pg_timeout, **kwargs: Any
) -> Iterator[tuple[Store, int, int]]:
    def wanted(name: str, given: int | str = -1) -> str:
        if given != -1:
            return str(given)
        query = parse_qs(urlparse(url).query).get(name.lower())
        found = query[0] if query else os.environ.get(name)
        if found is None:
            raise ValueError(
                f"Error initializing torch.distributed using env://: environment variable {name} expected, but not set"
            )
        return found

    rank, world_size = checked(int(wanted("RANK", rank)), int(wanted("WORLD_SIZE", world_size)))
    host, port = wanted("MASTER_ADDR"), int(wanted("MASTER_PORT"))
    yield _tcp_store(host, port, rank, world_size, timeout), rank, world_size


class WorldStore(PrefixStore):
    """The keys of one world. Note [Worlds of a server]."""

    def __init__(self, store: Store, size: int, serves: bool) -> None:
        self._joined, self._size, self._serves = f"worlds of {size}", size, serves
        number = store.add(self._joined, 1) - 1
        super().__init__(f"{self._joined}/{number // size}", store)
        if number % size == size - 1:
            self.set("complete", "1")
        if serves:
            self._await_all(number)

    def _await_all(self, number: int) -> None:
        try:
            self.wait(["complete"])
        except DistStoreError:
            here = self.underlying_store.add(self._joined, 0) - number // self._size * self._size
            self.withdraw()
            raise DistStoreError(
                f"Timed out after {self.timeout.total_seconds():g} seconds waiting for clients. {here}/{self._size} "
                "clients joined."
            ) from None

    def withdraw(self) -> None:
        """Of one who came and could not become part of the world."""
        with suppress(DistError):  # who serves may be gone
            self.underlying_store.add(self._joined, -1)

    def leave(self) -> None:
        """Of one whose world has ended."""
        last = False
        with suppress(DistError):  # who serves may be gone
            if last := self.add("left", 1) == self._size:
                self.set("all left", "1")
        if self._serves:
            assert isinstance(self.underlying_store, TCPStore)
            self.underlying_store.retire()
            if not last:
                atexit.register(self._await_others)

    def _await_others(self) -> None:
        with suppress(DistError):  # they may have more to do, and need the store no more
            self.wait(["all left"], _FAREWELL)


def _tcp_store(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Store:
    """Rank 0 serves it, unless a launcher does already."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        shared = PrefixStore(f"/worker/attempt_{attempt}", TCPStore(host, port, timeout=timeout))
        return WorldStore(shared, world_size, serves=False)
    store = TCPStore(host, port, is_master=rank == 0, timeout=timeout, multi_tenant=True)
    return WorldStore(store, world_size, serves=rank == 0)


register_rendezvous_handler("file", _from_file)
register_rendezvous_handler("tcp", _from_tcp)
register_rendezvous_handler("env", _from_environment)
