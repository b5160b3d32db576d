"""How machines agree who takes part.

Note [Meetings]
A run is a series of rounds. The agent of a machine comes to a round by counting itself in a store that all reach; the
first to come closes the round when all are there, or, where their number may vary, when more had time to come.
In a round everybody knows how many machines there are and how many processes each has, so ranks need no further
messages. Who comes to the next round thereby ends this one: an agent that restarts its processes, and a machine that
wants to join, do the same thing, and all others see it and follow. "over" ends the run.
"""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address

from ..errors import DistNetworkError, DistStoreError
from ..stores import PrefixStore, Store
from ..tcp_store import TCPStore


class RendezvousError(Exception):
    """Machines could not agree."""


class RendezvousTimeoutError(RendezvousError):
    """Not all came in time."""


class RendezvousClosedError(RendezvousError):
    """The run is over."""


@dataclass(frozen=True)
class Terms:
    """What was asked for on all machines."""

    run_id: str
    fewest: int
    most: int
    endpoint: str  # host:port of the store; port 0 for any
    node_rank: int | None = None  # given, or by order of coming
    serves: bool | None = None  # whether the store is here; None: find out
    patience: float = 600.0  # seconds until all have come
    last_call: float = 30.0  # seconds for more than the fewest to come


@dataclass(frozen=True)
class Round:
    """Who takes part."""

    number: int
    rank: int
    processes: tuple[int, ...]  # of each machine
    address: str
    port: int

    @property
    def before(self) -> int:
        """How many processes come before those of this machine."""
        return sum(self.processes[: self.rank])

    @property
    def world_size(self) -> int:
        """The number of all processes."""
        return sum(self.processes)


def parse_endpoint(endpoint: str, default_port: int) -> tuple[str, int]:
    """Host and port; an IPv6 address stands in brackets."""
    host, port = endpoint.strip(), default_port
    if host.startswith("[") and "]" in host:
        host, _, rest = host[1:].partition("]")
        text = rest.removeprefix(":")
    elif host.count(":") > 1:
        text = ""
    else:
        host, _, text = host.partition(":")
    if text:
        if not text.isdigit() or int(text) > 65535:
            raise ValueError(
                f"the port of the endpoint {endpoint!r} is {text!r}: give <host>:<port> with a port from 0 to 65535"
            )
        port = int(text)
    return host or "localhost", port


def _is_here(host: str) -> bool:
    """Whether a name is one of this machine's."""
    if host in ("localhost", socket.gethostname(), socket.getfqdn()):
        return True
    try:
        addresses = {each[4][0] for each in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    for address in addresses:
        if ip_address(str(address).partition("%")[0]).is_loopback:
            return True
        try:  # only an address of one's own can be bound
            with socket.socket(
                socket.AF_INET6 if ":" in str(address) else socket.AF_INET, socket.SOCK_DGRAM
            ) as probe:
                probe.bind((address, 0))
                return True
        except OSError:
            continue
    return False


def _store(host: str, port: int, terms: Terms) -> TCPStore:
    patience = timedelta(seconds=terms.patience)
    serves = _is_here(host) if terms.serves is None else terms.serves
    if serves:
        try:
            return TCPStore(host, port, is_master=True, timeout=patience, wait_for_workers=False)
        except (DistNetworkError, OSError, RuntimeError):
            if terms.serves or port == 0:
                raise
            # another agent of this machine serves it
    return TCPStore(host, port, is_master=False, timeout=patience, wait_for_workers=False)


class Meeting:
    """This machine's part in the agreement. Note [Meetings]."""

    def __init__(self, terms: Terms, processes: int) -> None:
        self.terms, self._processes = terms, processes
        host, port = parse_endpoint(terms.endpoint, 29400)
        if terms.node_rank is not None and not 0 <= terms.node_rank < terms.most:
            raise ValueError(
                f"--node-rank is {terms.node_rank}, and --nnodes says {terms.most}: give 0 to {terms.most - 1}"
            )
        self._tcp = _store(host, port, terms)
        self._host = host
        self.serves = self._tcp._server is not None
        self._store: Store = PrefixStore(f"/meeting/{terms.run_id}", self._tcp)
        self._number = self._told = -1
        self._size = 0

    def come(self) -> Round:
        """Takes part in the next round that has a place."""
        number = self._first() if self._number < 0 else self._number + 1
        end = time.monotonic() + self.terms.patience
        while True:
            self._refuse_when_over()
            count = self._store.add(f"{number}/came", 1)
            rank = self.terms.node_rank if self.terms.node_rank is not None else count - 1
            if count == 1:
                self._store.set("now", str(number))
                size = self._gather(number, end)
            else:
                size = int(self._await(f"{number}/size", number, end))
            if rank < size:
                break
            if self.terms.node_rank is not None:
                raise RendezvousError(
                    f"machine {rank} came to a round of {size}: all must be started with the same --nnodes"
                )
            number = self._wait_for_place(number, size, end)
        mine = json.dumps({"processes": self._processes, "host": socket.gethostname()})
        self._store.set(f"{number}/machine/{rank}", mine)
        others = [json.loads(self._await(f"{number}/machine/{each}", number, end)) for each in range(size)]
        self._number, self._size = number, size
        return Round(number, rank, tuple(each["processes"] for each in others), self._host, self._tcp.port)

    def _first(self) -> int:
        now = self._store.compare_set("now", "", "0")
        return int(now or b"0")

    def _gather(self, number: int, end: float) -> int:
        """The first to come waits for the others and closes the round."""
        close = None
        while True:
            count = self._store.add(f"{number}/came", 0)
            if count >= self.terms.most:
                count = self.terms.most
                break
            if count >= self.terms.fewest:
                close = close or time.monotonic() + self.terms.last_call
                if time.monotonic() >= close:
                    break
            if time.monotonic() >= end:
                self._late(f"only {count} of {self.terms.fewest} machines came to round {number}")
            time.sleep(0.02)
        self._store.set(f"{number}/size", str(count))
        return count

    def _await(self, key: str, number: int, end: float) -> bytes:
        try:
            self._store.wait([key], timedelta(seconds=max(0.01, end - time.monotonic())))
        except DistStoreError:
            count = self._store.add(f"{number}/came", 0)
            self._late(
                f"{key} did not come; {count} machines came to round {number}, {self.terms.fewest} are wanted"
            )
        return self._store.get(key)

    def _late(self, why: str) -> None:
        raise RendezvousTimeoutError(
            f"waited {self.terms.patience:g} seconds at {self._tcp.host}:{self._tcp.port} for run "
            f"{self.terms.run_id!r}: {why}. "
            "Is the same command running on all machines, with the same --rdzv-id and --rdzv-endpoint?"
        )

    def _wait_for_place(self, number: int, size: int, end: float) -> int:
        """Came to a full round: the next one, at once if there is room, else when somebody ends this one."""
        while size >= self.terms.most and not self._store.check([f"{number + 1}/came"]):
            self._refuse_when_over()
            if time.monotonic() >= end:
                self._late(f"{size} machines take part, which is the most there may be")
            time.sleep(0.1)
        return number + 1

    def _refuse_when_over(self) -> None:
        if self._store.check(["over"]):
            raise RendezvousClosedError(
                f"run {self.terms.run_id!r} is over: {self._store.get('over').decode()}"
            )

    def next_begun(self) -> bool:
        """Whether somebody came to the next round."""
        return (self._size > 1 or self.terms.most > 1) and self._store.check([f"{self._number + 1}/came"])

    def over(self) -> str | None:
        """Why the run is over, on another machine."""
        if self._size > 1 and self._store.check(["over"]):
            return self._store.get("over").decode()
        return None

    def failed(self) -> int:
        """Counts a failed round, once for all machines; how many there were."""
        first = self._store.add(f"{self._number}/failed", 1) == 1
        return self._store.add("failures", 1 if first else 0)

    def end(self, why: str) -> None:
        """Nobody need come again."""
        self._store.set("over", why)

    def finished(self) -> bool:
        """This machine's processes are done; whether all are."""
        if self._told < self._number:
            self._told = self._number
            self._store.add(f"{self._number}/done", 1)
        return self._store.add(f"{self._number}/done", 0) >= self._size

    def leave(self, patience: float = 10.0) -> None:
        """Returns when nobody needs the store any more."""
        left = self._store.add("left", 1)
        end = time.monotonic() + patience
        while self.serves and left < self._size and time.monotonic() < end:
            time.sleep(0.02)
            left = self._store.add("left", 0)
