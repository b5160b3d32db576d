"""pyACL's names and conventions over the ``libascendcl.so`` of this process.

A function takes the C function's inputs and returns its outputs, then the error code: ``ptr, ret =
acl.rt.malloc(size, policy)``. Addresses, streams and other handles are ints. The functions are made from the ABI
tables when they are first used; one that the library lacks is an AttributeError. ``acl.mdl`` and the other parts
that need a compiled model do not exist.
"""

from __future__ import annotations

from typing import Any

from . import _calls, op, rt, util

__all__ = ["op", "rt", "util"]


def init(config_path: str | None = None) -> int:
    """Starts the runtime; returns the error code."""
    code: int = _calls.function("aclInit")(config_path)
    return code


def app_log(log_level: int, message: str) -> None:
    """Writes a line to the runtime's log."""
    _calls.native("aclAppLog")(log_level, b"", b"", 0, b"%s", message.encode())


def __getattr__(name: str) -> Any:
    return _calls.attribute("acl", name)


def __dir__() -> list[str]:
    return sorted({*__all__, "app_log", "init", *_calls.names("acl")})
