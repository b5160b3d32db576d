"""Python's multiprocessing, with tensors passed through shared memory instead of copied.

A tensor sent to another process has its storage moved to shared memory first; both processes then see the same values.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403

from .._absent import names_of
from .._storage import get_all_sharing_strategies, get_sharing_strategy, set_sharing_strategy
from .reductions import init_reductions
from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    spawn,
    start_processes,
)

__all__ = [
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]

init_reductions()

__getattr__ = names_of(__name__)
