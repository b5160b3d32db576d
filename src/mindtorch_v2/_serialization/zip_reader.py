"""Reads PyTorch's archives. Nothing in the file is believed before it is checked against the file's length."""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from typing import Any

from .._storage import UntypedStorage
from .files import read_into

_STORED, _DEFLATED = 0, 8
_END, _END_SIZE = b"PK\x05\x06", 22
_WIDE_LOCATOR, _WIDE_END = b"PK\x06\x07", b"PK\x06\x06"
_DEFLATE_LIMIT = 1032  # a deflate stream cannot grow by more than this
_CHUNK = 1 << 24


def archive_error(what: str) -> RuntimeError:
    return RuntimeError(
        f"PytorchStreamReader failed {what}. The file is corrupted, or no checkpoint: it was not saved or "
        "transferred completely, or changed afterwards. Save it again or fetch another copy."
    )


@dataclass(frozen=True)
class Record:
    name: str
    header: int  # where the local header starts
    size: int
    compressed: int
    method: int
    crc: int


class ZipReader:
    """The records of an archive in ``file``, which starts at the file's present position.

    It ends with the file, or after ``length`` bytes.
    """

    def __init__(self, file: Any, length: int | None = None) -> None:
        self._file = file
        self._start = file.tell()
        left = file.seek(0, os.SEEK_END) - self._start
        if length is not None and not 0 <= length <= left:
            raise archive_error(
                f"reading zip archive: it has {length} bytes, and the file {max(left, 0)} from there"
            )
        self._length = left if length is None else length
        self._records = self._directory()
        names = list(self._records)
        if not names:
            raise archive_error("reading zip archive: it has no records")
        # Every record lies in one folder, whose name is the file's.
        self._folder = names[0].split("/", 1)[0] + "/"

    def names(self) -> list[str]:
        return [name.removeprefix(self._folder) for name in self._records]

    def has(self, name: str) -> bool:
        return self._folder + name in self._records

    def record(self, name: str) -> Record:
        try:
            return self._records[self._folder + name]
        except KeyError:
            raise archive_error(f"locating file {name}: file not found") from None

    # --- the directory

    def _at(self, position: int, size: int, what: str) -> bytes:
        if position < 0 or size < 0 or position + size > self._length:
            raise archive_error(f"reading zip archive: {what} lies outside the file")
        self._file.seek(self._start + position)
        data: bytes = self._file.read(size)
        if len(data) != size:
            raise archive_error(f"reading zip archive: the file ends within {what}")
        return data

    def _directory(self) -> dict[str, Record]:
        if self._length < _END_SIZE:
            raise archive_error("reading zip archive: not a ZIP archive")
        tail_start = max(0, self._length - _END_SIZE - 0xFFFF)
        tail = self._at(tail_start, self._length - tail_start, "the end of the directory")
        found = tail.rfind(_END, 0, len(tail) - _END_SIZE + len(_END))
        if found < 0:
            raise archive_error("reading zip archive: failed finding central directory")
        count, size, start = struct.unpack_from("<10xHII", tail, found)
        locator = tail_start + found - 20
        if locator >= 0 and (data := self._at(locator, 20, "the zip64 locator"))[:4] == _WIDE_LOCATOR:
            (position,) = struct.unpack_from("<8xQ", data)
            wide = self._at(position, 56, "the zip64 directory")
            if wide[:4] != _WIDE_END:
                raise archive_error("reading zip archive: failed finding central directory")
            count, size, start = struct.unpack_from("<32xQQQ", wide)
        if count * 46 > size:
            raise archive_error("reading zip archive: invalid header or archive is corrupted")
        data = self._at(start, size, "the central directory")
        records: dict[str, Record] = {}
        position = 0
        for _ in range(count):
            record, position = self._entry(data, position)
            records[record.name] = record
        return records

    def _entry(self, data: bytes, position: int) -> tuple[Record, int]:
        if position + 46 > len(data) or data[position : position + 4] != b"PK\x01\x02":
            raise archive_error("reading zip archive: invalid header or archive is corrupted")
        method, crc, compressed, size, name_size, extra_size, comment_size, header = struct.unpack_from(
            "<10xH4xIIIHHH8xI", data, position
        )
        name_at = position + 46
        extra_at = name_at + name_size
        end = extra_at + extra_size + comment_size
        if end > len(data):
            raise archive_error("reading zip archive: invalid header or archive is corrupted")
        size, compressed, header = _wide(data[extra_at : extra_at + extra_size], size, compressed, header)
        name = data[name_at:extra_at].decode("utf-8", "replace")
        if method not in (_STORED, _DEFLATED):
            raise archive_error(f"reading file {name}: unsupported compression method {method}")
        if header + 30 + compressed > self._length:
            raise archive_error(f"reading file {name}: it lies outside the file")
        if (method == _STORED and size != compressed) or size > compressed * _DEFLATE_LIMIT + 1024:
            raise archive_error(f"reading file {name}: its sizes contradict each other")
        return Record(name, header, size, compressed, method, crc), end

    # --- contents

    def offset(self, record: Record) -> int:
        """Where the record's data starts in the file."""
        header = self._at(record.header, 30, f"the header of {record.name}")
        if header[:4] != b"PK\x03\x04":
            raise archive_error(f"reading file {record.name}: invalid header or archive is corrupted")
        name_size, extra_size = struct.unpack_from("<26xHH", header)
        start: int = record.header + 30 + name_size + extra_size
        if start + record.compressed > self._length:
            raise archive_error(f"reading file {record.name}: it lies outside the file")
        return int(self._start + start)

    def read(self, name: str) -> bytes:
        record = self.record(name)
        data = bytearray(record.size)
        self._read_into(record, memoryview(data))
        return bytes(data)

    def storage(self, record: Record) -> UntypedStorage:
        """The record's bytes in a new storage, read straight into its memory."""
        storage = UntypedStorage(record.size)
        self._read_into(record, storage._handle.buffer())
        return storage

    def _read_into(self, record: Record, target: memoryview) -> None:
        self._file.seek(self.offset(record))
        if record.method == _DEFLATED:
            target[:] = self._inflated(record)
            return
        # As in PyTorch, the checksum is not compared: programs fill in the data of storages afterwards.
        done = 0
        while done < len(target):
            count = read_into(self._file, target[done : done + _CHUNK])
            if not count:
                raise archive_error(f"reading file {record.name}: the file ends within it")
            done += count

    def _inflated(self, record: Record) -> bytes:
        try:
            data = zlib.decompressobj(-15).decompress(self._file.read(record.compressed), record.size + 1)
        except zlib.error as error:
            raise archive_error(f"reading file {record.name}: {error}") from None
        if len(data) != record.size:
            raise archive_error(f"reading file {record.name}: it is not {record.size} bytes long")
        return data


def _wide(extra: bytes, size: int, compressed: int, header: int) -> tuple[int, int, int]:
    """The values that a zip64 field has for those that say they are too large."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            fields = extra[at + 4 : at + 4 + length]
            values = iter(struct.unpack(f"<{len(fields) // 8}Q", fields[: len(fields) // 8 * 8]))
            size = next(values, size) if size == 0xFFFFFFFF else size
            compressed = next(values, compressed) if compressed == 0xFFFFFFFF else compressed
            header = next(values, header) if header == 0xFFFFFFFF else header
            break
        at += 4 + length
    return size, compressed, header


def is_zip(file: Any) -> bool:
    """Whether the file goes on with a zip archive; its position stays."""
    position = file.tell()
    start = file.read(4)
    file.seek(position)
    return bool(start == b"PK\x03\x04")
