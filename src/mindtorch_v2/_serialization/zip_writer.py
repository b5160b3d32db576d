"""Writes PyTorch's archives: zip files whose records are stored, not compressed, and aligned.

Note [The archive's layout]
Byte for byte what PyTorch's own writer gives, apart from the serialization id. A record's local header has no
sizes; they follow the data (a data descriptor), so the file can be written without seeking. An extra field "FB" pads
the header until the data starts at a multiple of the alignment, which lets a loader map tensors straight from the file.
An empty record has no descriptor. The end is always written in zip64 form.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any

_UINT32_MAX = 0xFFFFFFFF
_UINT16_MAX = 0xFFFF
_UTF8_NAME = 0x0800
_HAS_DESCRIPTOR = 0x0008
_CHUNK = 1 << 24  # what is summed and written at once


def _hash_combine(seed: int, value: int) -> int:
    return (seed ^ (value + 0x9E3779B9 + (seed << 6) + (seed >> 2))) & 0xFFFFFFFFFFFFFFFF


class ZipWriter:
    """``write`` is called with the bytes in order; nothing is ever changed once written.

    ``skip(n)``, where the file can, leaves out n bytes that are zero.
    """

    def __init__(
        self,
        write: Callable[[Any], Any],
        archive: str,
        crc32: bool,
        alignment: int,
        skip: Callable[[int], Any] | None = None,
    ) -> None:
        self._write = write
        self._skip = skip
        self._archive = archive
        self._crc32 = crc32
        self._alignment = alignment
        self._position = 0
        self._directory: list[bytes] = []
        self._names_hash = 0
        self._data_hash = 0

    def _emit(self, data: bytes | memoryview) -> None:
        self._position += len(data)
        rest = memoryview(data)
        while rest:
            written = self._write(rest)
            if not isinstance(written, int):  # not every file object counts
                return
            rest = rest[written:]  # an unbuffered one may stop half way

    def record(self, name: str, data: bytes | memoryview) -> None:
        self._record(name, len(data), lambda: self._data(data))

    def hole(self, name: str, size: int) -> None:
        """A record of zeros, for someone else to fill."""
        self._record(name, size, lambda: self._zeros(size))

    def _record(self, name: str, size: int, emit_data: Callable[[], int]) -> None:
        full_name = f"{self._archive}/{name}".encode()
        offset = self._position
        flags = _UTF8_NAME | (_HAS_DESCRIPTOR if size else 0)
        # The header is written before the data, so one of its sizes is not known yet.
        early, wide = self._wide_fields(size, 0, offset), self._wide_fields(size, size, offset)
        header_end = offset + 30 + len(full_name) + 4 + len(wide)
        padding = -header_end % self._alignment
        extra = early + b"FB" + struct.pack("<H", padding) + b"Z" * padding
        self._emit(
            struct.pack("<IHHHHHIIIHH", 0x04034B50, 0, flags, 0, 0, 0, 0, 0, 0, len(full_name), len(extra))
            + full_name
            + extra
        )
        crc = emit_data()
        if size:
            sizes = "<IIQQ" if wide else "<IIII"
            self._emit(struct.pack(sizes, 0x08074B50, crc, size, size))
        short = min(size, _UINT32_MAX)
        self._directory.append(
            struct.pack(
                "<IHHHHHHIIIHHHHHII",
                0x02014B50, 0, 0, flags, 0, 0, 0, crc, short, short, len(full_name), len(wide), 0, 0, 0, 0,
                min(offset, _UINT32_MAX),
            )
            + full_name
            + wide
        )  # fmt: skip
        self._names_hash = _hash_combine(self._names_hash, zlib.crc32(name.encode()))
        self._data_hash = _hash_combine(self._data_hash, crc)

    @staticmethod
    def _wide_fields(size: int, compressed: int, offset: int) -> bytes:
        """The zip64 field: sizes and offset as far as 32 bits cannot hold them."""
        fields = b""
        if size >= _UINT32_MAX:
            fields += struct.pack("<QQ", size, compressed)
        if offset >= _UINT32_MAX:
            fields += struct.pack("<Q", offset)
        return struct.pack("<HH", 1, len(fields)) + fields if fields else b""

    def _data(self, data: bytes | memoryview) -> int:
        crc, view = 0, memoryview(data)
        for start in range(0, len(view), _CHUNK):
            part = view[start : start + _CHUNK]
            if self._crc32:
                crc = zlib.crc32(part, crc)
            self._emit(part)
        return crc

    def _zeros(self, size: int) -> int:
        if self._skip is not None:
            self._skip(size)
            self._position += size
            return 0
        zeros = bytes(min(size, _CHUNK))
        for start in range(0, size, _CHUNK):
            self._emit(zeros[: min(_CHUNK, size - start)])
        return 0

    def finish(self) -> None:
        """The records that every archive ends with, and the directory."""
        self.record("version", b"3\n")
        self.record(".data/serialization_id", f"{self._names_hash:020d}{self._data_hash:020d}".encode())
        start = self._position
        for entry in self._directory:
            self._emit(entry)
        end, count = self._position, len(self._directory)
        size = end - start
        self._emit(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 0x031E, 45, 0, 0, count, count, size, start))
        self._emit(struct.pack("<IIQI", 0x07064B50, 0, end, 1))
        shown = min(count, _UINT16_MAX)
        self._emit(
            struct.pack(
                "<IHHHHIIH",
                0x06054B50,
                0,
                0,
                shown,
                shown,
                min(size, _UINT32_MAX),
                min(start, _UINT32_MAX),
                0,
            )  # fmt: skip
        )
