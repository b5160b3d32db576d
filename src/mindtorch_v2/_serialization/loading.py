"""Reading a zip archive: the pickle, and each storage once, when the pickle first asks for it."""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

from .._storage import UntypedStorage
from .._storage_typed import TypedStorage
from . import restricted
from .locations import is_meta, restorer
from .names import StorageType, unpickler_class
from .zip_reader import ZipReader, archive_error


def as_dtype(storage: TypedStorage, dtype: Any) -> TypedStorage:
    """The storage as it was saved: an empty one may have been saved with several dtypes."""
    if storage.dtype == dtype:
        return storage
    return TypedStorage(wrap_storage=storage._untyped_storage, dtype=dtype, _internal=True)


def as_text(value: Any) -> Any:
    """Texts of files from Python 2 may arrive as bytes."""
    return value.decode("ascii") if isinstance(value, bytes) else value


class ArchiveStorages:
    """The storages of an archive, restored where map_location says."""

    def __init__(
        self,
        archive: ZipReader,
        map_location: Any,
        *,
        swap_bytes: bool,
        skip_data: bool,
        mapped: UntypedStorage | None,
    ) -> None:
        self._archive = archive
        self._restore = restorer(map_location)
        self._meta = is_meta(map_location)
        self._swap_bytes = swap_bytes
        self._skip_data = skip_data
        self._mapped = mapped
        self._loaded: dict[str, TypedStorage] = {}

    def persistent_load(self, saved: Any) -> TypedStorage:
        if not isinstance(saved, tuple) or len(saved) != 5 or as_text(saved[0]) != "storage":
            raise pickle.UnpicklingError(
                f"a persistent id must be ('storage', type, key, location, numel), got {saved!r:.200}"
            )
        kind, key, location, numel = saved[1:]
        if not isinstance(kind, StorageType) or not isinstance(key, (str, bytes)) or type(numel) is not int:
            raise pickle.UnpicklingError(
                f"a persistent id must be ('storage', type, key, location, numel), got {saved!r:.200}"
            )
        key = as_text(key)
        if key not in self._loaded:
            untyped = self._read(f"data/{key}", numel * kind.dtype.itemsize, kind.dtype)
            if not self._meta:
                untyped = self._restore(untyped, as_text(location))
            self._loaded[key] = TypedStorage(wrap_storage=untyped, dtype=kind.dtype, _internal=True)
        return as_dtype(self._loaded[key], kind.dtype)

    def _read(self, name: str, nbytes: int, dtype: Any) -> UntypedStorage:
        record = self._archive.record(name)
        if record.size != nbytes:
            raise archive_error(f"reading file {name}: it has {record.size} bytes, its tensor needs {nbytes}")
        if self._meta:
            return UntypedStorage(nbytes, device="meta")
        if self._skip_data:
            return UntypedStorage(nbytes)
        if self._mapped is not None and record.size == record.compressed:
            start = self._archive.offset(record)
            storage = self._mapped[start : start + nbytes]
        else:
            storage = self._archive.storage(record)
        if self._swap_bytes:
            storage.byteswap(dtype)
        return storage  # type: ignore[no-any-return]


def load_zip(
    archive: ZipReader,
    map_location: Any,
    pickle_module: Any,
    *,
    load_endianness: str | None,
    skip_data: bool,
    mapped: UntypedStorage | None,
    **pickle_arguments: Any,
) -> Any:
    """``pickle_module`` None: only weights."""
    order: str | None = "little" if load_endianness is None else load_endianness
    if archive.has("byteorder"):
        order = archive.read("byteorder").decode("ascii", "replace")
        if order not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {order}")
    storages = ArchiveStorages(
        archive,
        map_location,
        swap_bytes=order not in ("native", sys.byteorder),
        skip_data=skip_data,
        mapped=mapped,
    )
    kind: Any = restricted.Unpickler if pickle_module is None else unpickler_class(pickle_module)
    unpickler = kind(io.BytesIO(archive.read("data.pkl")), **pickle_arguments)
    unpickler.persistent_load = storages.persistent_load
    return unpickler.load()
