"""Who counts collectives is told of each when a program asks for it.

Note [Two names of a collective]
Every collective of a group says its name. What runs for a tensor of a higher kind, a ``DTensor`` or the result of a
functional collective, is told under the name of PyTorch's functional operator instead, so that a program's counts do
not depend on which plain collectives carry them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

listeners: list[Callable[[str], None]] = []


class _Thread(threading.local):
    covered = False  # what is asked for now was told already, under another name


_thread = _Thread()


def tell(name: str) -> None:
    """A collective was asked for."""
    if listeners and not _thread.covered:
        for listener in listeners:
            listener(name)


@contextmanager
def told_as(operator: str) -> Iterator[None]:
    """What is asked for inside counts once, as this operator (``namespace.name``)."""
    tell(operator)
    before = _thread.covered
    _thread.covered = True
    try:
        yield
    finally:
        _thread.covered = before


def functional(name: str) -> AbstractContextManager[None]:
    """The same for a functional collective."""
    return told_as(f"c10d_functional.{name}")
