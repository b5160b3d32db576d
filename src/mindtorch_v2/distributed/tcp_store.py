"""A store that one process serves to all others over TCP."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from weakref import WeakSet

from .._C import _distributed
from . import _messages as protocol
from ._table import as_bytes
from .errors import DistNetworkError, DistStoreError, QueueEmptyError
from .stores import DEFAULT_TIMEOUT, Store

# Seconds after which a server that should have said "too late", or answered at once, counts as gone; less where the
# time limit is less.
_GRACE, _AT_ONCE, _LEAST = 10.0, 60.0, 1.0
_WAITS = frozenset(("get", "wait", "pop"))  # what the server may answer later
# Of this process, by address: stores that are made with multi_tenant share one, which stays: other processes may still
# read what was written last when this one is done with it.
_servers: dict[tuple[str, int], tuple[_distributed._StoreServer, WeakSet[TCPStore]]] = {}


def _limit(operation: str, patience: timedelta) -> float:
    """How many seconds an answer may take."""
    seconds = max(_LEAST, patience.total_seconds())
    return seconds + min(_GRACE, seconds) if operation in _WAITS else min(_AT_ONCE, seconds)


def host_name() -> str:
    """A name of this machine by which others may find it."""
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return "localhost"
    return name


class TCPStore(Store):
    """The keys are in the process with ``is_master``; the others, on any machine, ask it."""

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self._timeout = timeout
        self._server: _distributed._StoreServer | None = None
        if is_master:
            listening = -1 if master_listen_fd is None else master_listen_fd
            self._server = self._serve(host_name, port, listening, multi_tenant)
            port = self._server.port
        self._host, self._port = host_name, port
        self._lock = threading.Lock()
        self._socket: socket.socket | None = self._connect(timeout)
        if wait_for_workers and world_size is not None and world_size > 0:
            self._wait_for_workers(world_size)

    def _serve(self, host: str, port: int, listening: int, shared: bool) -> _distributed._StoreServer:
        if shared and (host, port) in _servers:
            server, users = _servers[host, port]
            users.add(self)
            return server
        for key in [key for key, (_, users) in _servers.items() if key[1] == port and not users]:
            del _servers[key]
        server = _distributed._StoreServer(port, listening)
        if shared:
            _servers[host, server.port] = server, WeakSet([self])
        return server

    def retire(self) -> None:
        """Serves for others alone, and only until somebody wants the port."""
        for _, users in _servers.values():
            users.discard(self)
        self._server = None

    def __repr__(self) -> str:
        return f"TCPStore({self._host}:{self._port}{', serving' if self._server else ''})"

    def __del__(self) -> None:
        if getattr(self, "_socket", None) is not None:
            self._socket.close()  # type: ignore[union-attr]

    @property
    def host(self) -> str:
        """The name of the machine that has the keys."""
        return self._host

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._port

    @property
    def libuvBackend(self) -> bool:
        """False: the server is a thread of this library's own."""
        return False

    def _connect(self, timeout: timedelta) -> socket.socket:
        """Tries until the server is there: processes start in no order."""
        end = time.monotonic() + timeout.total_seconds()
        pause = 0.01
        while True:
            try:
                left = max(0.01, end - time.monotonic())
                made = socket.create_connection((self._host, self._port), left)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return made
            except OSError as error:
                if time.monotonic() + pause > end:
                    raise DistNetworkError(
                        f"The client socket has timed out after {timeout.total_seconds() * 1000:.0f}ms while trying "
                        f"to connect to ({self._host}, {self._port}): {error}. Is the process of rank 0 running "
                        "there, and does MASTER_ADDR name its machine?"
                    ) from error
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(1.0, pause * 2)

    def _wait_for_workers(self, world_size: int) -> None:
        joined = self.add("init/joined", 1)
        if joined == world_size:
            self.set("init/complete", "1")
        if self._server is None:
            return
        try:
            self.wait(["init/complete"])
        except DistStoreError:
            here = self.add("init/joined", 0)
            raise DistStoreError(
                f"Timed out after {self._timeout.total_seconds():g} seconds waiting for clients. {here}/{world_size} "
                "clients joined."
            ) from None

    def _ask(
        self, operation: str, *arguments: bytes, patience: timedelta | None = None, again: bool = True
    ) -> list[bytes]:
        """Sends a request. ``again``: it may be sent twice where a connection broke."""
        patience = patience or self._timeout
        waits = int(patience.total_seconds() * 1000)
        message = protocol.packed([operation.encode(), waits.to_bytes(8, "little"), *arguments])
        limit = _limit(operation, patience)
        with self._lock:
            try:
                answer = self._exchange(message, limit)
            except TimeoutError as error:  # another attempt would wait as long again
                self._hang_up()
                names = "".join(f" of {each.decode(errors='replace')!r}" for each in arguments[:1])
                raise DistNetworkError(
                    f"the store at {self._host}:{self._port} did not answer {operation}{names} within "
                    f"{limit:g} s: the connection is cut, or the process that serves it hangs"
                ) from error
            except (OSError, EOFError) as error:
                self._hang_up()
                if not again:
                    raise DistNetworkError(
                        f"the connection to the store at {self._host}:{self._port} broke during {operation}: {error}. "
                        "Did the process that serves it end?"
                    ) from error
                answer = self._exchange_again(message, limit, operation, error)
        state, *results = answer
        if state == protocol.LATE:
            names = ", ".join(f"/{each.decode(errors='replace')}" for each in arguments)
            raise DistStoreError(f"wait timeout after {waits}ms, keys: {names}")
        if state == protocol.EMPTY:
            raise QueueEmptyError("queue is empty")
        if state == protocol.WRONG:
            raise ValueError(results[0].decode())
        return results

    def _exchange_again(self, message: bytes, limit: float, operation: str, why: Exception) -> list[bytes]:
        try:
            return self._exchange(message, limit)
        except (OSError, EOFError, DistNetworkError) as error:
            self._hang_up()
            raise DistNetworkError(
                f"the store at {self._host}:{self._port} is gone: {operation} failed twice ({why}; {error}). Did the "
                "process that serves it end?"
            ) from error

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _exchange(self, message: bytes, limit: float) -> list[bytes]:
        if self._socket is None:
            self._socket = self._connect(timedelta(seconds=min(limit, 5)))
        self._socket.settimeout(limit)
        self._socket.sendall(message)
        return protocol.unpacked(self._receive(protocol.length_of(self._receive(4))))

    def _receive(self, count: int) -> bytes:
        assert self._socket is not None
        parts = bytearray()
        while len(parts) < count:
            part = self._socket.recv(count - len(parts))
            if not part:
                raise EOFError("the server closed the connection")
            parts += part
        return bytes(parts)

    def set(self, key: str, value: str | bytes) -> None:
        self._ask("set", key.encode(), as_bytes(value))

    def get(self, key: str) -> bytes:
        return self._ask("get", key.encode())[0]

    def add(self, key: str, amount: int) -> int:
        return int(self._ask("add", key.encode(), str(amount).encode(), again=False)[0])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._ask("wait", *(key.encode() for key in keys), patience=timeout)

    def check(self, keys: Sequence[str]) -> bool:
        return bool(self._ask("check", *(key.encode() for key in keys))[0])

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        asked = (key.encode(), as_bytes(expected_value), as_bytes(desired_value))
        return self._ask("compare", *asked, again=False)[0]

    def delete_key(self, key: str) -> bool:
        return bool(self._ask("delete", key.encode(), again=False)[0])

    def num_keys(self) -> int:
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        return [key.decode() for key in self._ask("keys")]

    def append(self, key: str, value: str | bytes) -> None:
        self._ask("append", key.encode(), as_bytes(value), again=False)

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        pairs = zip(keys, values, strict=True)
        self._ask("set", *(part for key, value in pairs for part in (key.encode(), as_bytes(value))))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._ask("get", *(key.encode() for key in keys))

    def queue_push(self, key: str, value: str | bytes) -> None:
        self._ask("push", key.encode(), as_bytes(value), again=False)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self._ask("pop", key.encode(), b"1" if block else b"", again=False)[0]

    def queue_len(self, key: str) -> int:
        return int(self._ask("length", key.encode())[0])

    def clone(self) -> TCPStore:
        made = TCPStore(self._host, self._port, timeout=self._timeout, wait_for_workers=False)
        made._server = self._server
        return made
