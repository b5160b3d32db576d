"""Files of snapshots, as plain data. See Note [Reading snapshots].

Note [Reading snapshots]
A pickle is a program, and a snapshot is often somebody else's. So the file is looked through first by native code
(``csrc/runtime/plain_pickle.h``), which knows the instructions for numbers, texts, lists and dicts and no other, and
adds up what the objects will weigh. Only then Python's reader runs, which is told to find no classes. Nothing of a file
is ever called, and what does not fit is refused before it is made.
"""

from __future__ import annotations

import io
import json
import os
import pickle
from pathlib import Path
from typing import Any

from .._C import _memory_tools as _native

MEMORY_LIMIT = 8 << 30  # bytes that a snapshot's objects may take
_JSON_GROWTH = 12  # bytes of objects for a byte of text, at most


class SnapshotError(ValueError):
    """A file that is no snapshot, or one that is too large."""


class _PlainReader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise SnapshotError(
            f"the file wants {module}.{name}; a snapshot is plain data, and nothing of it is run"
        )

    def persistent_load(self, key: Any) -> Any:
        raise SnapshotError("the file refers to objects outside it; a snapshot is plain data")


def _from_pickle(content: bytes, limit: int) -> Any:
    _native.check_plain_pickle(content, limit)
    return _PlainReader(io.BytesIO(content)).load()


def _from_json(content: bytes, limit: int) -> Any:
    if len(content) * _JSON_GROWTH > limit:
        raise SnapshotError(
            f"the text of {len(content)} bytes may take more than {limit} bytes of memory when it is read; raise the "
            "limit if that is what you want"
        )
    try:
        return json.loads(content)
    except RecursionError:
        raise SnapshotError("the lists in it are nested deeper than a snapshot's") from None


def plain_data(path: str | os.PathLike[str], memory_limit: int = MEMORY_LIMIT) -> Any:
    """What a file of pickle or JSON holds. Raises SnapshotError for anything but plain data."""
    path = Path(path)
    if path.is_dir():
        raise SnapshotError(f"{path} is a folder; give the file that _dump_snapshot wrote")
    size = path.stat().st_size
    if size > memory_limit:
        raise SnapshotError(
            f"{path} has {size} bytes, more than the limit of {memory_limit}; raise the limit to read it"
        )
    content = path.read_bytes()
    if not content:
        raise SnapshotError(f"{path} is empty")
    is_text = content.lstrip()[:1] in (b"{", b"[")
    try:
        return _from_json(content, memory_limit) if is_text else _from_pickle(content, memory_limit)
    except SnapshotError as error:
        raise SnapshotError(f"{path}: {error}") from None
    except (ValueError, TypeError, EOFError, pickle.UnpicklingError) as error:  # JSON's and Unicode's too
        raise SnapshotError(f"{path} cannot be read as a snapshot: {error}") from None
