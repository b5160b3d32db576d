"""``torch.cuda.memory``: the names of ``torch.cuda`` about memory."""

from typing import Any

from . import _absent
from ._absent import empty_cache as empty_cache
from ._absent import max_memory_allocated as max_memory_allocated
from ._absent import max_memory_reserved as max_memory_reserved
from ._absent import mem_get_info as mem_get_info
from ._absent import memory_allocated as memory_allocated
from ._absent import memory_reserved as memory_reserved
from ._absent import memory_snapshot as memory_snapshot
from ._absent import memory_stats as memory_stats
from ._absent import memory_summary as memory_summary
from ._absent import reset_peak_memory_stats as reset_peak_memory_stats


def __getattr__(name: str) -> Any:
    return getattr(_absent, name)
