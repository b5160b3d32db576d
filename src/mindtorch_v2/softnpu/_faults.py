"""Failing on purpose, and seeing what was called. All of it at any time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from .. import _C
from ._library import library


def _check_function(function: str) -> None:
    name = function.removeprefix("task:")
    if name == "*" or not name.startswith("acl"):
        return
    library()
    if not _C._npu.symbol(name):
        raise ValueError(f"no function is called {name!r}; names are written as in C, such as 'aclrtMalloc'")


def fail(function: str, nth: int = 1, code: int = 507899, count: int = 1) -> None:
    """Makes the ``nth`` call of ``function`` from now return ``code``, and the ``count - 1`` after it.

    A ``count`` of -1 means always.

    ``"*"`` matches every call that can fail without being a defect of its own (see the control header);
    ``"task:aclnnAdd"`` fails the operator on the device, which the next synchronisation reports.
    """
    _check_function(function)
    if nth < 1:
        raise ValueError(f"nth is {nth}; the next call is 1")
    if code == 0:
        raise ValueError("code is 0, which means success; wanted an error code such as 207001")
    if count < 1 and count != -1:
        raise ValueError(f"count is {count}; wanted how many calls fail, or -1 for always")
    library().softnpu_fail(function.encode(), nth, code, count)


def clear() -> None:
    """Takes all rules of :func:`fail` away."""
    library().softnpu_fail_clear()


@contextlib.contextmanager
def failing(function: str, nth: int = 1, code: int = 507899, count: int = 1) -> Iterator[None]:
    """:func:`fail` inside the block; afterwards no rule is left."""
    fail(function, nth, code, count)
    try:
        yield
    finally:
        clear()


def failures() -> int:
    """How many calls have been made to fail since the last :func:`clear`."""
    return int(library().softnpu_failures())


def start_counting() -> None:
    """Starts :func:`calls` at 0."""
    library().softnpu_calls_reset()


def calls() -> int:
    """How many calls ``fail("*")`` could have reached since :func:`start_counting`."""
    return int(library().softnpu_calls())


@contextlib.contextmanager
def trace(path: str | os.PathLike[str]) -> Iterator[None]:
    """Writes every call as a line of JSON (function, arguments, thread, time) to ``path``."""
    if not library().softnpu_trace(os.fsencode(path)):
        raise OSError(f"the trace file {os.fspath(path)!r} cannot be opened for writing")
    try:
        yield
    finally:
        library().softnpu_trace(None)


def live_bytes(device: int = 0) -> int:
    """Bytes of device memory that are allocated."""
    return int(library().softnpu_live_bytes(device))


def live_streams() -> int:
    """Streams that exist, the default streams excepted."""
    return int(library().softnpu_live_streams())


def live_events() -> int:
    """Events that exist."""
    return int(library().softnpu_live_events())
