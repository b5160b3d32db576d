"""What several processes of a test run need and only one should make."""

import fcntl
import os
import pickle
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[], T]) -> T:
    """What `make()` returns in the first of pytest's processes that asks for `name`; the others wait for it.

    Files that a worker of pytest-xdist takes from another bring their fixtures along, and would make everything again.
    """
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    kept = root / f"{name}.pickle"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            unfinished = kept.with_suffix(".unfinished")
            unfinished.write_bytes(pickle.dumps(make()))
            unfinished.rename(kept)
    made: T = pickle.loads(kept.read_bytes())
    return made
