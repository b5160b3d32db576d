"""What traces say of collectives. ``distributed/_described.py`` writes it, as the members of a JSON object."""

from __future__ import annotations

import functools
import json
from typing import Any


@functools.lru_cache(maxsize=4096)
def _parsed(details: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(f"{{{details}}}")
    return found


def fields(details: str, duration_ns: int, carried: bool) -> dict[str, Any]:
    """Of an event that took that long; ``carried``: it is the communication, and not the call that asked for it."""
    if not details:
        return {}
    found = dict(_parsed(details))
    if carried and duration_ns > 0:
        found["bandwidth (GB/s)"] = float(f"{found['bytes'] / duration_ns:.6g}")
    return found


def members(details: str, duration_ns: int, carried: bool) -> str:
    """The same as JSON, without braces."""
    return json.dumps(fields(details, duration_ns, carried))[1:-1]


def of_world() -> dict[str, Any]:
    """The member ``distributedInfo`` of a trace; nothing in a process that works alone."""
    from ..distributed import world  # few programs have groups

    return {"distributedInfo": world.information()} if world.is_initialized() else {}
