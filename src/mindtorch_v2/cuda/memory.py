"""``torch.cuda.memory``: the names of ``torch.cuda`` about memory."""

from typing import Any

from ._chosen import names

empty_cache = names.empty_cache
max_memory_allocated = names.max_memory_allocated
max_memory_reserved = names.max_memory_reserved
mem_get_info = names.mem_get_info
memory_allocated = names.memory_allocated
memory_reserved = names.memory_reserved
memory_snapshot = names.memory_snapshot
memory_stats = names.memory_stats
memory_summary = names.memory_summary
reset_peak_memory_stats = names.reset_peak_memory_stats


def __getattr__(name: str) -> Any:
    return getattr(names, name)
