"""The recorded arguments of an operator, as events and traces show them."""

from __future__ import annotations

import functools
import json
from typing import Any

from .. import _C

_Kind = _C._profiler.ArgumentKind
_TENSOR, _TENSORS, _INTEGERS = int(_Kind.TENSOR), int(_Kind.TENSORS), int(_Kind.INTEGERS)

# The C++ names that PyTorch shows as types of tensors.
TYPE_NAMES = {
    "uint8": "unsigned char", "uint16": "unsigned short int", "uint32": "unsigned int",
    "uint64": "unsigned long int", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
    "float64": "double", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip

Argument = tuple[Any, ...] | None
_CACHED = 1 << 14  # programs call their operators with few different shapes


@functools.lru_cache(maxsize=_CACHED)
def decode(inputs: bytes) -> tuple[Argument, ...]:
    """The arguments of a row of a native trace."""
    return tuple(_C._profiler.decode_inputs(inputs))


@functools.lru_cache(maxsize=_CACHED)
def as_json(inputs: bytes) -> str:
    """The fields that a trace has for them."""
    arguments = decode(inputs)
    fields = {
        "Concrete Inputs": [text_of(given) for given in arguments],
        "Input type": [type_of(given) for given in arguments],
        "Input Strides": [strides_of(given) for given in arguments],
        "Input Dims": [shape_of(given) for given in arguments],
    }
    return json.dumps(fields)[1:-1]


def shape_of(argument: Argument) -> list[Any]:
    """Sizes of a tensor, a list of them for a list of tensors, nothing for other arguments."""
    if argument is None or argument[0] not in (_TENSOR, _TENSORS):
        return []
    return list(argument[2]) if argument[0] == _TENSOR else [shape_of(tensor) for tensor in argument[1]]


def strides_of(argument: Argument) -> list[Any]:
    if argument is None or argument[0] not in (_TENSOR, _TENSORS):
        return []
    return list(argument[3]) if argument[0] == _TENSOR else [strides_of(tensor) for tensor in argument[1]]


def type_of(argument: Argument) -> str:
    if argument is None:
        return ""
    if argument[0] == _TENSOR:
        dtype: str = argument[1]
        return TYPE_NAMES.get(dtype, dtype)
    if argument[0] == _TENSORS:
        return "TensorList"
    return "ScalarList" if argument[0] == _INTEGERS else "Scalar"


def value_of(argument: Argument) -> Any:
    """Numbers, lists of numbers and texts; None for tensors and what is not recorded."""
    if argument is None or argument[0] in (_TENSOR, _TENSORS):
        return None
    return argument[1]


def text_of(argument: Argument) -> str:
    """The value as traces have it."""
    value = value_of(argument)
    if value is None:
        return ""
    return f'"{value}"' if isinstance(value, str) else str(value)
