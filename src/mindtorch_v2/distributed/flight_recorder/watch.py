"""Asks all processes how far they are when one of them has failed.

Note [Who is behind]
A process that waits in vain knows that somebody is late, not who and where. So every process has a thread that does
nothing but wait for a question in the store. The first member of a group that fails asks; all processes answer with how
far they are in that group and write their entries to files; the one that asked says what follows from the answers, and
the other members that fail take its word. Who does not answer within a short time is gone or stuck.
Collectives on streams fail while nobody looks; the thread looks at them from time to time, too.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from ..errors import DistError, DistStoreError
from ..stores import PrefixStore, Store
from ..tcp_store import TCPStore
from . import recorder
from .recorder import Position
from .verdict import verdict

_PERIOD = 1.0  # seconds between two looks
_PATIENCE = timedelta(seconds=5)  # for answers
_ASKED = "asked"


def _shared(store: Store) -> Store:
    """The keys of questions and answers, which all groups of the processes share."""
    return PrefixStore("flight", store)


class Watch:
    """The thread of a process that answers."""

    def __init__(self, store: Store, rank: int, groups: Mapping[str, Any]) -> None:
        self._waits = isinstance(store, TCPStore)  # others are looked at again and again
        self._store, self._rank, self._groups = _shared(store.clone()), rank, groups
        self._next = self._store.add("questions", 0) + 1
        self._closed = threading.Event()
        self._told: set[str] = set()  # groups whose problem was shown
        threading.Thread(target=self._serve, name="flight recorder", daemon=True).start()

    def _serve(self) -> None:
        try:
            while not self._closed.is_set():
                self.look()
                if self._is_asked(self._next):
                    answer(self._store, self._next, self._rank)
                    self._next += 1
        except DistError:  # the store is gone, and with it whoever could ask
            return

    def _is_asked(self, number: int) -> bool:
        key = f"{_ASKED}/{number}"
        if not self._waits:
            self._closed.wait(_PERIOD)
            return not self._closed.is_set() and self._store.check([key])
        try:
            self._store.wait([key], timedelta(seconds=_PERIOD))
        except DistStoreError:
            return False
        return True

    def look(self) -> None:
        """Tells on the console what failed on streams, once for each group."""
        for name, group in list(self._groups.items()):
            if name not in self._told and (problem := group.stream_problem()):
                self._told.add(name)
                print(problem, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Ends it, at its next look."""
        self._closed.set()


def answer(store: Store, number: int, rank: int) -> None:
    """How far this process is in the group that the question names."""
    flight = recorder.find(store.get(f"{_ASKED}/{number}").decode())
    if flight is not None:
        store.set(f"{number}/{rank}", json.dumps(flight.position()))
    recorder.write(rank)


def ask(store: Store, group: str, ranks: Iterable[int]) -> str:
    """What the members of a group answer, in a sentence."""
    shared = _shared(store)
    number = shared.add("questions", 1)
    shared.set(f"{_ASKED}/{number}", group)
    positions: dict[int, Position | None] = dict.fromkeys(ranks)
    keys = {each: f"{number}/{each}" for each in ranks}
    try:
        shared.wait(list(keys.values()), _PATIENCE)
    except DistStoreError:
        keys = {each: key for each, key in keys.items() if shared.check([key])}
    for each, key in keys.items():
        positions[each] = Position(*json.loads(shared.get(key)))
    return verdict(positions)


def who_is_behind(store: Store, own: Store, group: str, ranks: Iterable[int], first: bool) -> str:
    """Asks, if this process is the ``first`` of the group to fail, or takes the word of the one that was. ``store`` is
    that of all processes, ``own`` the group's."""
    try:
        if first:
            said = ask(store, group, ranks)
            own.set("verdict", said)
            return said
        own.wait(["verdict"], 2 * _PATIENCE)
        return own.get("verdict").decode()
    except DistError:  # the process that has the store may be the one that is gone
        return ""
