"""Gloo, through the binding that the package xoscar brings (``xoscar_pygloo``).

Note [Gloo's messages]
Only the binding's ``send`` and ``recv`` let other threads of Python run while they wait, so they are all that is used,
and ``pairwise.py`` makes the collectives. A receiver must know how many bytes come, so a message begins with a frame of
fixed length: its label and as much of the tensor as fits, which for small tensors is all. The rest follows if the label
is right. Frames are used again: making one costs as much as filling it.

Note [Gloo's thread]
A thread of Gloo waits for sockets (epoll). When one is ready whose pair another thread works on, it tries again at
once. Where it has just taken the processor from that other thread, as the system lets threads do that wake up, it tries
in vain until its time is over: milliseconds, in a message of microseconds. As a thread of the kind SCHED_BATCH, which
does not take the processor from others when it wakes up, it lets the other one finish. All else about it stays.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..._C import Tensor
from ..engine import Place
from ..errors import DistBackendError
from ..stores import Store
from ..tcp_store import host_name
from .pairwise import PairwiseEngine

_HOW = "pip install 'mindtorch_v2[distributed]' brings it"
_LABEL, _INLINE = 128, 4096  # bytes of a frame
_FRAME = _LABEL + _INLINE


def _file() -> Path | None:
    """The shared object, found without loading the package around it, which would start threads of its own."""
    package = importlib.util.find_spec("xoscar")
    for folder in (package.submodule_search_locations or []) if package else []:
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            found = Path(folder) / "collective" / f"xoscar_pygloo{suffix}"
            if found.exists():
                return found
    return None


def is_available() -> bool:
    """Whether Gloo is installed."""
    return _file() is not None


@cache
def _library() -> Any:
    path = _file()
    if path is None:
        raise DistBackendError(f"the backend gloo needs the package xoscar, which is not installed: {_HOW}")
    spec = importlib.util.spec_from_file_location("xoscar_pygloo", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("xoscar_pygloo", module)
    spec.loader.exec_module(module)
    return module


class _Shared:
    """The group's store, with the names that the binding calls."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def set_tcp(self, key: str, value: bytes) -> None:
        self._store.set(key, value)

    def get_tcp(self, key: str) -> bytes:
        return self._store.get(key)

    def wait(self, keys: Sequence[str]) -> None:
        self._store.wait(list(keys))

    def del_keys(self, keys: Sequence[str]) -> None:
        for key in keys:
            self._store.delete_key(key)


def _address() -> dict[str, str]:
    """Where others connect to: a network interface that the user names, or the address of the host's name."""
    interface = os.environ.get("GLOO_SOCKET_IFNAME")
    if interface:
        return {"iface": interface.split(",")[0]}
    return {"hostname": host_name()}


def _loops() -> set[int]:
    """The threads of this process in which Gloo waits for sockets."""
    found = set()
    for folder in Path("/proc/self/task").iterdir():
        try:
            if (folder / "comm").read_text().strip() == "gloo_tcp_loop":
                found.add(int(folder.name))
        except FileNotFoundError:  # it ended meanwhile
            continue
    return found


def _let_others_finish(threads: set[int]) -> None:
    """Note [Gloo's thread]."""
    for thread in threads:
        try:
            os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))
        except PermissionError:  # a container may forbid it: messages are then slower at times, and right
            return


class GlooEngine(PairwiseEngine):
    """Messages over TCP."""

    name = "gloo"
    piece = 1 << 23  # each is asked for and answered, which costs more than what a cache saves

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        gloo = self._gloo = _library()
        self._bytes = gloo.GlooDataType_t.glooUint8
        self._frames: list[Any] = []  # not in use. Note [Gloo's messages]
        attributes = gloo.transport.tcp.attr("localhost")
        for name, value in _address().items():
            setattr(attributes, name, value)
        self._context = gloo.rendezvous.Context(place.rank, place.size)
        self._context.setTimeout(place.timeout)
        self._shared = gloo.rendezvous.CustomStore(_Shared(place.store))
        others_loops = _loops()
        try:
            self._context.connectFullMesh(self._shared, gloo.transport.tcp.CreateDevice(attributes))
            _let_others_finish(_loops() - others_loops)
            self.barrier()  # who is connected might end before the others are
            self._number = 0
        except RuntimeError as error:
            others = ", ".join(str(each) for each in place.ranks if each != place.ranks[place.rank])
            raise DistBackendError(
                f"gloo: rank {place.ranks[place.rank]} could not connect to rank {others} within "
                f"{place.timeout.total_seconds():g} s ({error}); GLOO_SOCKET_IFNAME names the network to use"
            ) from error

    def _frame(self) -> Any:
        try:
            return self._frames.pop()
        except IndexError:
            return ctypes.create_string_buffer(_FRAME)

    def put(self, tensor: Tensor, peer: int, slot: int, label: str, agreed: bool = False) -> None:
        start, end = tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes
        if not agreed:
            frame = self._frame()
            frame.value = label.encode()[: _LABEL - 1]
            address, inline = ctypes.addressof(frame), min(end - start, _INLINE)
            ctypes.memmove(address + _LABEL, start, inline)
            self._move(self._gloo.send, address, _FRAME, peer, slot, label)
            self._frames.append(frame)
            start += inline
        if end > start:
            self._move(self._gloo.send, start, end - start, peer, slot, label)

    def take(self, tensor: Tensor, peer: int, slot: int, label: str, agreed: bool = False) -> None:
        start, end = tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes
        if not agreed:
            frame = self._frame()
            address, inline = ctypes.addressof(frame), min(end - start, _INLINE)
            self._move(self._gloo.recv, address, _FRAME, peer, slot, label)
            theirs = frame.value.decode()
            if theirs != label[: _LABEL - 1]:
                raise DistBackendError(
                    f"rank {self.place.ranks[peer]} sent {theirs}; "
                    f"rank {self.place.ranks[self.place.rank]} expected {label}"
                )
            ctypes.memmove(start, address + _LABEL, inline)
            self._frames.append(frame)
            start += inline
        if end > start:
            self._move(self._gloo.recv, start, end - start, peer, slot, label)

    def _move(self, move: Any, address: int, length: int, peer: int, slot: int, label: str) -> None:
        try:
            move(self._context, address, length, self._bytes, peer, slot)
        except RuntimeError as error:
            raise DistBackendError(
                f"{label}: no answer from rank {self.place.ranks[peer]} ({error})"
            ) from error

    def disconnect(self) -> None:
        self._context.closeConnections()
