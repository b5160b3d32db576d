"""Reading what PyTorch wrote before 1.6: pickles in a row, then raw storages; and the tar files before that."""

from __future__ import annotations

import inspect
import io
import os
import pickle
import struct
import tarfile
import warnings
from typing import Any

import mindtorch_v2 as torch

from .._storage import UntypedStorage
from .._storage_typed import TypedStorage
from . import restricted
from .files import read_into
from .loading import as_dtype, as_text
from .locations import restorer
from .names import StorageType, unpickler_class
from .saving import MAGIC_NUMBER, PROTOCOL_VERSION

_TAR_MEMBERS = ("storages", "tensors", "pickle")


class SourceChangeWarning(Warning):
    """The source of a module's class is not what it was when the module was saved."""


def load_legacy(
    file: Any, map_location: Any, pickle_module: Any, *, skip_data: bool, **pickle_arguments: Any
) -> Any:
    """``pickle_module`` None: only weights."""
    start = file.tell()
    if _is_tar(file):
        if pickle_module is None:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. In PyTorch 2.6, we "
                "changed the default value of the `weights_only` argument in `torch.load` from `False` to "
                "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it "
                "can result in arbitrary code execution. Do it only if you got the file from a trusted source."
            )
        return _load_tar(file, map_location, pickle_module, pickle_arguments)
    file.seek(start)
    kind: Any = restricted.Unpickler if pickle_module is None else unpickler_class(pickle_module)
    storages = _Storages(file, restorer(map_location), skip_data)

    def value() -> Any:
        return kind(file, **pickle_arguments).load()

    if value() != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = value()
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    value()  # what machine it was written on
    unpickler = kind(file, **pickle_arguments)
    unpickler.persistent_load = storages.persistent_load
    result = unpickler.load()
    storages.fill(value())
    return result


class _Storages:
    def __init__(self, file: Any, restore: Any, skip_data: bool) -> None:
        self._file = file
        self._restore = restore
        self._skip_data = skip_data
        position = file.tell()
        self._bytes_left = file.seek(0, os.SEEK_END) - position
        file.seek(position)
        self._loaded: dict[Any, TypedStorage] = {}

    def persistent_load(self, saved: Any) -> Any:
        name = as_text(saved[0]) if isinstance(saved, tuple) and saved else None
        if name == "module" and len(saved) == 4:
            if all(saved[1:]):
                _warn_if_source_changed(*saved[1:])
            return saved[1]
        if name != "storage" or len(saved) != 6:
            raise RuntimeError(f"Unknown saved id type: {name}")
        kind, key, location, numel, view = saved[1:]
        if not isinstance(kind, StorageType) or type(numel) is not int or numel < 0:
            raise pickle.UnpicklingError(f"a persistent id of a storage is damaged: {saved!r:.200}")
        if key not in self._loaded:
            nbytes = numel * kind.dtype.itemsize
            self._bytes_left -= nbytes
            if self._bytes_left < 0 and not self._skip_data:
                raise RuntimeError(
                    f"the file is too short for a storage of {nbytes} bytes that it describes; it is corrupted"
                )
            untyped = self._restore(UntypedStorage(nbytes), as_text(location))
            self._loaded[key] = TypedStorage(wrap_storage=untyped, dtype=kind.dtype, _internal=True)
        root = as_dtype(self._loaded[key], kind.dtype)
        return root if view is None else self._view(root, view)

    def _view(self, root: TypedStorage, view: Any) -> TypedStorage:
        key, offset, count = view
        if key not in self._loaded:
            size = root.dtype.itemsize
            part = root._untyped_storage[offset * size : (offset + count) * size]
            self._loaded[key] = TypedStorage(wrap_storage=part, dtype=root.dtype, _internal=True)
        return self._loaded[key]

    def fill(self, keys: Any) -> None:
        """Reads the bytes, which come last in the file."""
        if self._skip_data:
            return
        for key in keys if isinstance(keys, list) else [keys]:
            if key not in self._loaded:
                raise RuntimeError(f"storage key {key!r} not found in deserialized_objects; corrupt file?")
            storage = self._loaded[key]
            _read_storage(self._file, storage._untyped_storage, storage.dtype.itemsize)


def _read_storage(file: Any, storage: UntypedStorage, element: int) -> None:
    header = file.read(8)
    if len(header) != 8:
        raise RuntimeError("unexpected EOF. The file might be corrupted.")
    (count,) = struct.unpack("<q", header)
    if count * element != storage.nbytes():
        raise RuntimeError(
            f"storage has wrong byte size: expected {storage.nbytes()} got {count * element}. The file might be "
            "corrupted."
        )
    host = UntypedStorage(storage.nbytes()) if storage.device.type != "cpu" else storage
    target, done = host._handle.buffer(), 0
    while done < len(target):
        count = read_into(file, target[done : done + (1 << 24)])
        if not count:
            raise RuntimeError(
                f"unexpected EOF, expected {len(target) - done} more bytes. The file might be corrupted."
            )
        done += count
    if host is not storage and storage.device.type != "meta":
        storage.copy_(host)


def _warn_if_source_changed(kind: type, source_file: str, source: str) -> None:
    try:
        current = inspect.getsource(kind)
    except (OSError, TypeError):
        warnings.warn(
            f"Couldn't retrieve source code for container of type {kind.__name__}. It won't be checked for "
            "correctness upon loading.",
            stacklevel=2,
        )
        return
    if current != source:
        warnings.warn(
            f"source code of class '{kind.__module__}.{kind.__qualname__}' has changed. Saved from "
            f"{source_file}; you can retrieve the original source code by accessing the object's source attribute.",
            SourceChangeWarning,
            stacklevel=2,
        )


# --- tar


def _is_tar(file: Any) -> bool:
    start = file.tell()
    block = file.read(512)
    file.seek(start)
    return len(block) == 512 and block[257:262] == b"ustar"


def _load_tar(file: Any, map_location: Any, pickle_module: Any, pickle_arguments: dict[str, Any]) -> Any:
    restore = restorer(map_location)
    kind = unpickler_class(pickle_module)
    objects: dict[Any, Any] = {}
    try:
        with tarfile.open(fileobj=file, mode="r:") as tar:
            members = {}
            for name in _TAR_MEMBERS:
                member = tar.extractfile(name)
                if member is None:
                    raise RuntimeError(f"{name} is no file of the tar archive; corrupt file?")
                members[name] = io.BytesIO(member.read())
    except (tarfile.TarError, KeyError) as error:
        raise RuntimeError(f"the tar archive cannot be read: {error}; corrupt file?") from None

    def value(part: io.BytesIO) -> Any:
        return kind(part, **pickle_arguments).load()

    part = members["storages"]
    for _ in range(value(part)):
        key, location, storage_type = value(part)
        position = part.tell()
        (count,) = struct.unpack("<q", part.read(8))
        nbytes = count * storage_type.dtype.itemsize
        if not 0 <= nbytes <= len(part.getbuffer()) - position:
            raise RuntimeError("a storage is longer than the file; corrupt file?")
        part.seek(position)
        host = UntypedStorage(nbytes)
        _read_storage(part, host, storage_type.dtype.itemsize)
        objects[key] = TypedStorage(
            wrap_storage=restore(host, as_text(location)), dtype=storage_type.dtype, _internal=True
        )
    for target, root_key, offset, count in value(part):
        root = objects[root_key]
        size = root.dtype.itemsize
        window = root._untyped_storage[offset * size : (offset + count) * size]
        objects[target] = TypedStorage(wrap_storage=window, dtype=root.dtype, _internal=True)
    part = members["tensors"]
    for _ in range(value(part)):
        key, storage_key, _ = value(part)
        (dims,) = struct.unpack("<i4x", part.read(8))
        sizes = struct.unpack(f"<{dims}q", part.read(8 * dims))
        strides = struct.unpack(f"<{dims}q", part.read(8 * dims))
        (offset,) = struct.unpack("<q", part.read(8))
        storage = objects[storage_key]
        objects[key] = torch._C.tensor_from_storage(
            storage._untyped_storage._handle, storage.dtype, offset, list(sizes), list(strides)
        )

    def persistent_load(saved: Any) -> Any:
        return saved[0] if isinstance(saved, tuple) else objects[int(saved)]

    unpickler = kind(members["pickle"], **pickle_arguments)
    unpickler.persistent_load = persistent_load
    return unpickler.load()
