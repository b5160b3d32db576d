"""Archives as programs open them: records by name, written one after the other or read in any order."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

from .. import _C
from .._C import Tensor
from .._storage import UntypedStorage
from .files import archive_name, is_path, reading
from .zip_reader import ZipReader
from .zip_writer import ZipWriter


class PyTorchFileReader:
    """The records of an archive at a path, or in a file object from where it stands."""

    def __init__(self, name_or_buffer: Any) -> None:
        self._file = open(name_or_buffer, "rb") if is_path(name_or_buffer) else name_or_buffer
        self._archive = ZipReader(self._file)

    def get_all_records(self) -> list[str]:
        return self._archive.names()

    def has_record(self, name: str) -> bool:
        return self._archive.has(name)

    def get_record(self, name: str) -> bytes:
        return self._archive.read(name)

    def get_record_offset(self, name: str) -> int:
        """Where the bytes of a record start in the file."""
        return self._archive.offset(self._archive.record(name))

    def get_storage_from_record(self, name: str, numel: int, dtype: _C.dtype) -> Tensor:
        """A record as a tensor of ``numel`` elements."""
        storage = self._archive.storage(self._archive.record(name))
        return _C.tensor_from_storage(storage._handle, dtype, 0, [numel], [1])

    def serialization_id(self) -> str:
        name = ".data/serialization_id"
        return self.get_record(name).decode() if self.has_record(name) else ""

    def version(self) -> int:
        return int(self.get_record("version")) if self.has_record("version") else 0


class PyTorchFileWriter:
    """Writes an archive to a path or a file object; it is complete after ``write_end_of_file``."""

    def __init__(self, name_or_buffer: Any, compute_crc32: bool = True, alignment: int = 64) -> None:
        self._owned = open(name_or_buffer, "wb") if is_path(name_or_buffer) else None
        self._name = archive_name(name_or_buffer)
        write = (self._owned or name_or_buffer).write
        self._archive: ZipWriter | None = ZipWriter(write, self._name, compute_crc32, alignment)
        self._written: list[str] = []

    def _open(self, name: str) -> ZipWriter:
        if self._archive is None:
            raise RuntimeError(f"cannot write record {name!r}: the end of the archive has been written")
        self._written.append(name)
        return self._archive

    def write_record(self, name: str, data: Any, size: int) -> None:
        """A record of ``size`` bytes: bytes, text, a storage, or an address."""
        if isinstance(data, str):
            data = data.encode()
        elif isinstance(data, UntypedStorage):
            data = data.tobytes()
        elif isinstance(data, int):
            data = ctypes.string_at(data, size)
        self._open(name).record(name, memoryview(data).cast("B")[:size])

    def write_record_metadata(self, name: str, size: int) -> None:
        """A record of ``size`` zeros, to be filled later."""
        self._open(name).hole(name, size)

    def get_all_written_records(self) -> list[str]:
        return list(self._written)

    def archive_name(self) -> str:
        return self._name

    def write_end_of_file(self) -> None:
        """Writes the directory; the archive takes no more records."""
        if self._archive is not None:
            self._archive.finish()
            self._archive = None
        if self._owned is not None:
            self._owned.close()


@contextlib.contextmanager
def open_file_like(name_or_buffer: Any, mode: str) -> Iterator[Any]:
    """A path opened, or a file object that is flushed at the end."""
    if is_path(name_or_buffer):
        with open(name_or_buffer, mode) as file:
            yield file
    elif "w" in mode:
        yield name_or_buffer
        name_or_buffer.flush()
    elif "r" in mode:
        with reading(name_or_buffer) as file:
            yield file
    else:
        raise RuntimeError(f"Expected 'r' or 'w' in mode but got {mode}")


@contextlib.contextmanager
def open_reader(name_or_buffer: Any) -> Iterator[PyTorchFileReader]:
    """An archive to read."""
    with reading(name_or_buffer) as file:
        yield PyTorchFileReader(file)


@contextlib.contextmanager
def open_writer(name_or_buffer: Any) -> Iterator[PyTorchFileWriter]:
    """An archive to write, complete at the end."""
    writer = PyTorchFileWriter(name_or_buffer)
    yield writer
    writer.write_end_of_file()
    if not is_path(name_or_buffer):
        name_or_buffer.flush()
