"""The runtime: devices, contexts, memory, streams, events and callbacks."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

from . import _calls

_tokens = itertools.count(1)
_waiting: dict[int, tuple[Callable[[Any], Any], Any]] = {}


def _run(token: int) -> None:
    function, argument = _waiting.pop(token)
    function(argument)


_run_callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_run)


def launch_callback(fn: Callable[[Any], Any], user_data_list: Any, block_type: int, stream: int) -> int:
    """Has ``fn(user_data_list)`` called, in stream order, by the thread that has subscribed to the stream."""
    token = next(_tokens)
    _waiting[token] = fn, user_data_list
    address = ctypes.cast(_run_callback, ctypes.c_void_p).value
    code: int = _calls.function("aclrtLaunchCallback")(address, token, block_type, stream)
    if code != 0:
        del _waiting[token]
    return code


def __getattr__(name: str) -> Any:
    return _calls.attribute("acl.rt", name)


def __dir__() -> list[str]:
    return sorted(["launch_callback", *_calls.names("acl.rt")])
