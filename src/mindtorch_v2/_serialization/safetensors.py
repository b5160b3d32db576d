"""Reading .safetensors files: a JSON header, then the bytes of each tensor.

Our own, because the library of that name gives tensors of whatever package is called ``torch`` in the process.
"""

from __future__ import annotations

import json
import math
import os
import struct
from typing import Any

from .. import _C
from .._storage import UntypedStorage

_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "C64": "complex64", "C128": "complex128",
}  # fmt: skip
_LONGEST_HEADER = 100_000_000


def load_safetensors(path: str, device: Any) -> dict[str, Any]:
    """The tensors of a file by name, on ``device``."""
    with open(path, "rb") as file:
        length = os.fstat(file.fileno()).st_size
        start = file.read(8)
        size = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= size <= min(length - 8, _LONGEST_HEADER):
            raise _damaged(path, f"its header cannot be {size} bytes long in a file of {length}")
        try:
            header = json.loads(file.read(size))
            entries = {name: _entry(entry) for name, entry in header.items() if name != "__metadata__"}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise _damaged(path, f"its header cannot be read ({error})") from None
        return {
            name: _tensor(path, file, 8 + size, length, name, *entry).to(device)
            for name, entry in entries.items()
        }


def _entry(entry: dict[str, Any]) -> tuple[Any, list[int], int, int]:
    begin, end = entry["data_offsets"]
    shape = entry["shape"]
    if any(type(number) is not int or number < 0 for number in (begin, end, *shape)):
        raise ValueError(f"shape {shape} and offsets {begin}, {end} must be counts")
    return getattr(_C, _DTYPES[entry["dtype"]]), shape, begin, end


def _tensor(
    path: str,
    file: Any,
    data: int,
    length: int,
    name: str,
    dtype: Any,
    shape: list[int],
    begin: int,
    end: int,
) -> Any:
    count = math.prod(shape)
    if count * dtype.itemsize != end - begin or data + end > length:
        raise _damaged(path, f"tensor {name!r} of shape {shape} does not fit its bytes {begin} to {end}")
    storage = UntypedStorage(end - begin)
    file.seek(data + begin)
    if file.readinto(storage._handle.buffer()) != end - begin:
        raise _damaged(path, f"it ends within tensor {name!r}")
    return _C.tensor_from_storage(storage._handle, dtype, 0, [count], [1]).view(shape)


def _damaged(path: str, why: str) -> RuntimeError:
    return RuntimeError(f"{path} is not a complete safetensors file: {why}")
