"""Messages between a TCPStore and its server: Note [Store protocol] in csrc/distributed/store_server.h."""

from __future__ import annotations

import struct

_LENGTH = struct.Struct("<I")
MOST_BYTES = 1 << 28  # of one message
DONE, LATE, EMPTY, WRONG = b"done", b"late", b"empty", b"wrong"


def packed(fields: list[bytes]) -> bytes:
    """A message."""
    body = b"".join(_LENGTH.pack(len(part)) + part for part in fields)
    return _LENGTH.pack(len(body)) + body


def unpacked(body: bytes) -> list[bytes]:
    """The fields of a message."""
    fields, at = [], 0
    while at < len(body):
        if at + _LENGTH.size > len(body):
            raise ValueError("a field of a message has no length")
        (length,) = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        if at + length > len(body):
            raise ValueError(f"a field of {length} bytes does not fit into its message")
        fields.append(body[at : at + length])
        at += length
    return fields


def length_of(header: bytes) -> int:
    """How many bytes follow the first four of a message."""
    (length,) = _LENGTH.unpack(header)
    if length > MOST_BYTES:
        raise ValueError(f"a message of {length} bytes is longer than the {MOST_BYTES} that are allowed")
    return int(length)
