"""The two ways to write an object: a zip archive, and the format from before PyTorch 1.6."""

from __future__ import annotations

import inspect
import io
import os
import struct
import sys
import warnings
from collections.abc import Callable
from typing import Any

from .. import _C, _storage_typed
from .._storage import UntypedStorage
from .._storage_typed import STORAGE_NAMES, TypedStorage
from ..nn.modules.module import Module
from .locations import location_tag
from .names import pickler_class
from .zip_writer import ZipWriter

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
SYSTEM_INFO = {
    "protocol_version": PROTOCOL_VERSION,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}


class _Storages:
    """The storages met while pickling, each with its persistent id and once."""

    def __init__(self, key_of: Callable[[UntypedStorage, int], str]) -> None:
        self._key_of = key_of
        self._keys: dict[int, str] = {}
        self._dtypes: dict[int, Any] = {}
        self.found: dict[str, tuple[UntypedStorage, int]] = {}  # with the bytes per element

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        if not isinstance(obj, (TypedStorage, UntypedStorage)):  # nearly always
            return None
        if isinstance(obj, TypedStorage):
            storage, dtype = obj._untyped_storage, obj.dtype
            kind: Any = getattr(_storage_typed, STORAGE_NAMES[dtype.name])
        else:
            storage, dtype, kind = obj, _C.uint8, UntypedStorage
        identity = storage._handle._cdata
        if storage.device.type != "meta" and storage.nbytes():
            if self._dtypes.setdefault(storage.data_ptr(), dtype) != dtype:
                raise RuntimeError(
                    "Cannot save multiple tensors or storages that view the same data as different types"
                )
        key = self._keys.setdefault(identity, self._key_of(storage, len(self._keys)))
        # Kept, so that no other storage gets the same identity while we go on.
        self.found.setdefault(key, (storage, dtype.itemsize))
        return ("storage", kind, key, location_tag(storage), storage.nbytes() // dtype.itemsize)


def host_bytes(storage: UntypedStorage) -> tuple[UntypedStorage, memoryview]:
    """A storage's bytes in host memory, and the storage that keeps them alive."""
    if storage.device.type == "meta":
        storage = UntypedStorage(storage.nbytes()).fill_(0)
    host = storage.cpu()
    return host, host._handle.buffer()


def save_zip(
    obj: Any,
    file: Any,
    archive: str,
    pickle_module: Any,
    protocol: int,
    *,
    crc32: bool,
    alignment: int,
    skip_data: bool,
    fresh: bool,
    byte_order: bool,
) -> None:
    storages = _Storages(lambda storage, count: str(count))
    buffer = io.BytesIO()
    _dump(pickler_class(pickle_module), buffer, protocol, storages.persistent_id, obj)
    # In a new file what is skipped reads as zeros and takes no room.
    skip = (lambda size: file.seek(size, os.SEEK_CUR)) if fresh and file.seekable() else None
    archive_writer = ZipWriter(file.write, archive, crc32, alignment, skip)
    archive_writer.record("data.pkl", buffer.getvalue())
    archive_writer.record(".format_version", b"1")
    archive_writer.record(".storage_alignment", str(alignment).encode())
    if byte_order:
        archive_writer.record("byteorder", sys.byteorder.encode())
    for key, (storage, _) in storages.found.items():
        if skip_data:
            archive_writer.hole(f"data/{key}", storage.nbytes())
        else:
            keep, data = host_bytes(storage)
            archive_writer.record(f"data/{key}", data)
            del data, keep
    archive_writer.finish()


def save_legacy(obj: Any, file: Any, pickle_module: Any, protocol: int) -> None:
    storages = _Storages(lambda storage, count: str(storage._handle._cdata))
    containers: set[type] = set()

    def persistent_id(item: Any) -> tuple[Any, ...] | None:
        if isinstance(item, type):
            return _container_id(item, containers)
        found = storages.persistent_id(item)
        return None if found is None else (*found, None)  # None: no view of another storage

    for value in (MAGIC_NUMBER, PROTOCOL_VERSION, SYSTEM_INFO):
        pickle_module.dump(value, file, protocol=protocol)
    _dump(pickler_class(pickle_module), file, protocol, persistent_id, obj)
    keys = sorted(storages.found)
    pickle_module.dump(keys, file, protocol=protocol)
    for key in keys:
        storage, element = storages.found[key]
        keep, data = host_bytes(storage)
        file.write(struct.pack("<q", len(data) // element))
        file.write(data)
        del data, keep
    file.flush()


def _container_id(kind: type, seen: set[type]) -> tuple[Any, ...] | None:
    """Classes of modules travel with their source, so that a reader can tell when it has changed."""
    if not issubclass(kind, Module) or kind in seen:
        return None
    seen.add(kind)
    source_file = source = None
    try:
        source, source_file = inspect.getsource(kind), inspect.getsourcefile(kind)
    except (OSError, TypeError):
        warnings.warn(
            f"Couldn't retrieve source code for container of type {kind.__name__}. It won't be checked for "
            "correctness upon loading.",
            stacklevel=2,
        )
    return ("module", kind, source_file, source)


def _dump(kind: Any, file: Any, protocol: int, persistent_id: Callable[[Any], Any], obj: Any) -> None:
    pickler = kind(file, protocol=protocol)
    pickler.persistent_id = persistent_id
    pickler.dump(obj)
