"""The older names of dtypes, by which types of tensors and storages, and files, are called."""

from __future__ import annotations

from .. import _C

# ``Float`` as in ``FloatTensor`` and ``FloatStorage``.
LEGACY_NAMES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "uint8": "Byte",
    "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "bool": "Bool",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32",
    "uint64": "UInt64", "float8_e4m3fn": "Float8_e4m3fn", "float8_e5m2": "Float8_e5m2",
    "float8_e4m3fnuz": "Float8_e4m3fnuz", "float8_e5m2fnuz": "Float8_e5m2fnuz",
    "float8_e8m0fnu": "Float8_e8m0fnu", "complex32": "ComplexHalf",
}  # fmt: skip


def dtype_of(name: str) -> _C.dtype:
    """The dtype of a name such as "float32"."""
    found = getattr(_C, name)
    assert isinstance(found, _C.dtype), name
    return found
