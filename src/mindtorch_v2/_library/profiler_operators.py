"""``torch.ops.profiler``: annotations of the trace, begun and ended by operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _C


def _enter(name: str, args: str | None = None) -> Any:
    """What it returns ends the annotation."""
    return _C._profiler.begin_scope(name, False)


def _exit(handle: Any) -> None:
    if handle is not None:  # nobody records
        handle.end()


setattr(_exit, "_RecordFunction", _exit)  # noqa: B010 - its only overload, under the overload's name

OPERATORS: dict[str, Callable[..., Any]] = {
    "_record_function_enter": _enter,
    "_record_function_enter_new": _enter,
    "_record_function_exit": _exit,
}
