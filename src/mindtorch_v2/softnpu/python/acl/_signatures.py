"""C declarations of the ABI tables as ctypes signatures."""

from __future__ import annotations

import ctypes
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

# The tables that the C headers of the software NPU are generated from, installed beside this file.
TABLES = Path(__file__).resolve().parent / "abi"

_NUMBERS: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "char": ctypes.c_char,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "int": ctypes.c_int,
    "size_t": ctypes.c_size_t,
    "unsigned int": ctypes.c_uint,
    **{f"int{bits}_t": getattr(ctypes, f"c_int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
}


class UnsupportedTypeError(TypeError):
    """A type that this module cannot pass, such as a structure by value."""


@cache
def table(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((TABLES / f"{name}.json").read_text())
    return content


def split(declaration: str) -> tuple[str, str]:
    """``'const void* src'`` -> ``('const void*', 'src')``."""
    match = re.fullmatch(r"(.*?)\s*(\w+)", declaration)
    if match is None:
        raise UnsupportedTypeError(f"cannot read the parameter {declaration!r}")
    return match[1], match[2]


def pointed_to(kind: str) -> str | None:
    """``'uint32_t*'`` -> ``'uint32_t'``; None when it is no pointer."""
    kind = kind.strip()
    return kind[:-1].strip() if kind.endswith("*") else None


def ctype(kind: str) -> Any:
    """The ctypes type of a C type; None for ``void``."""
    kind = kind.strip()
    plain = kind.removeprefix("const ").removesuffix(" const").strip()
    if plain == "void":
        return None
    if kind == "const char*":
        return ctypes.c_char_p
    if plain.endswith("*"):
        return ctypes.c_void_p
    if plain in _NUMBERS:
        return _NUMBERS[plain]
    if plain in table("enums")["enums"]:
        return ctypes.c_int
    structures = table("structs")
    if plain in structures["callbacks"]:
        return ctypes.c_void_p
    target = structures["typedefs"].get(plain)
    if target is not None and not target.startswith("struct "):
        return ctype(target)
    raise UnsupportedTypeError(f"values of type {plain} cannot be passed")


def bind(library: ctypes.CDLL, name: str, result: str, parameters: list[str]) -> Any:
    """The function with its signature set, of a variadic one the fixed part; AttributeError when it is missing."""
    function = getattr(library, name)
    function.restype = ctype(result)
    function.argtypes = [ctype(split(parameter)[0]) for parameter in parameters if parameter != "..."]
    return function
