"""Single operators, as far as the library has them: ``ret = acl.op.execute_v2(op_type, ...)``."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from . import _calls


def set_attr_list_list_int(attr: int, attr_name: str, values: Sequence[Sequence[int]]) -> int:
    """Sets an attribute that is a list of lists; returns the error code."""
    rows = [(ctypes.c_int64 * len(row))(*row) for row in values]
    lengths = (ctypes.c_int * len(rows))(*map(len, rows))
    addresses = (ctypes.c_void_p * len(rows))(*map(ctypes.addressof, rows))
    native = _calls.native("aclopSetAttrListListInt")
    code: int = native(attr, attr_name.encode(), len(rows), lengths, addresses)
    return code


def __getattr__(name: str) -> Any:
    return _calls.attribute("acl.op", name)


def __dir__() -> list[str]:
    return sorted({"set_attr_list_list_int", *_calls.names("acl.op")})
