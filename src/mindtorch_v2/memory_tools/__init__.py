"""Where the memory went: snapshots of this package, of PyTorch (CUDA) and of torch_npu, read, replayed and compared.

``mindtorch memory --help`` has the same as commands. See ``docs/memory_tools.md``.
"""

from __future__ import annotations

from ._advise import Advice, advise, smallest_capacity
from ._diff import Change, Difference, diff
from ._leaks import Growth, leaks, leaks_text
from ._lifetimes import CATEGORIES, Lifetimes, lifetimes
from ._model import Block, Device, Frame, History, Segment, Snapshot, from_data, place_of, read
from ._reading import SnapshotError
from ._replay import Outcome, differences, recorded_conf, replay, size_of, table, text_of
from ._view import view, write_page
from ._watch import NotWatchedError, look, page_of, watch, watch_text

__all__ = [
    "CATEGORIES", "Advice", "Block", "Change", "Device", "Difference", "Frame", "Growth", "History", "Lifetimes",
    "NotWatchedError", "Outcome", "Segment", "Snapshot", "SnapshotError", "advise", "diff", "differences",
    "from_data", "leaks", "leaks_text", "lifetimes", "look", "page_of", "place_of", "read", "recorded_conf",
    "replay", "size_of", "smallest_capacity", "table", "text_of", "view", "watch", "watch_text", "write_page",
]  # fmt: skip
