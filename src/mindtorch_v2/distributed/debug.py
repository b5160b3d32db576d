"""How much the processes check of each other: ``TORCH_DISTRIBUTED_DEBUG``.

With INFO and DETAIL, DistributedDataParallel shows which parameters a pass does not use. With DETAIL every collective
is preceded by an exchange of what each process is about to do, so that the first difference is an error that names the
rank and what differs (``_fingerprints.py``). Gloo's messages have labels at any level: Note [Labels] in
``engines/pairwise.py``.
"""

from __future__ import annotations

import os
from enum import Enum

__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]


class DebugLevel(Enum):
    """The levels."""

    OFF, INFO, DETAIL = range(3)


_level: list[DebugLevel] = []


def set_debug_level_from_env() -> None:
    """What the environment says now."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, got {name}")
    set_debug_level(DebugLevel[name])


def get_debug_level() -> DebugLevel:
    """The level; at first that of the environment."""
    if not _level:
        set_debug_level_from_env()
    return _level[0]


def set_debug_level(level: DebugLevel) -> None:
    """Sets the level of this process."""
    _level[:] = [level]
