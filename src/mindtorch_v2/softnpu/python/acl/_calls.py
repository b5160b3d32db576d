"""Python functions for C functions, by pyACL's conventions.

* ``aclrtMallocHost`` is ``acl.rt.malloc_host``, ``aclopCreateAttr`` is ``acl.op.create_attr``, others are in ``acl``.
* A pointer that the C function writes through is not an argument but a result; the error code is the last result.
  A structure comes back as a dict.
* A list replaces an array and its length; a str replaces ``const char*``; addresses and handles are ints.
"""

from __future__ import annotations

import ctypes
import operator
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from . import _library, _signatures

_PREFIXES = {"aclrt": "acl.rt", "aclop": "acl.op", "aclsys": "acl", "acl": "acl"}
# Where pyACL's name does not follow from the C name.
_OTHER_NAMES = {
    "aclrtGetCurrentContext": ("acl.rt", "get_context"),
    "aclrtSetCurrentContext": ("acl.rt", "set_context"),
    "aclrtUnSubscribeReport": ("acl.rt", "unsubscribe_report"),
    "aclrtGetSocName": ("acl", "get_soc_name"),
    "aclrtGetVersion": ("acl", "get_version"),
    "aclopExecWithHandle": ("acl.op", "execute_with_handle"),
}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _python_name(c_name: str) -> tuple[str, str] | None:
    """('acl.rt', 'malloc_host'); None for functions of parts that do not exist here."""
    if c_name in _OTHER_NAMES:
        return _OTHER_NAMES[c_name]
    for prefix, module in _PREFIXES.items():
        rest = c_name.removeprefix(prefix)
        if rest != c_name and rest[:1].isupper():
            return module, _snake(rest)
    return None


@cache
def _c_names() -> dict[tuple[str, str], str]:
    names = {name: _python_name(name) for name in _signatures.table("runtime")["functions"]}
    return {found: name for name, found in names.items() if found is not None}


def names(module: str) -> list[str]:
    """The functions of a module that the library has."""
    return sorted(
        name for (where, name), c_name in _c_names().items() if where == module and _available(c_name)
    )


def _available(c_name: str) -> bool:
    try:
        function(c_name)
    except AttributeError:
        return False
    return True


def attribute(module: str, name: str) -> Any:
    """For a module's ``__getattr__``."""
    c_name = _c_names().get((module, name))
    if c_name is None:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    return function(c_name)


def native(c_name: str) -> Any:
    """The C function itself, with its signature set; AttributeError when the library lacks it."""
    library = _library.find(c_name)
    if library is None:
        raise AttributeError(f"{_library.path()} has no function {c_name}")
    result, *parameters = _signatures.table("runtime")["functions"][c_name]
    return _signatures.bind(library, c_name, result, parameters)


@cache
def function(c_name: str) -> Callable[..., Any]:
    result, *parameters = _signatures.table("runtime")["functions"][c_name]
    try:
        bound = native(c_name)
        plan = _Plan(result, parameters)
    except _signatures.UnsupportedTypeError as problem:
        raise AttributeError(f"{c_name} cannot be called from Python: {problem}") from None

    def call(*arguments: Any) -> Any:
        values, outputs = plan.convert(c_name, arguments)
        return plan.results(bound(*values), outputs)

    module, name = _python_name(c_name) or ("acl", c_name)
    call.__name__, call.__qualname__, call.__module__ = name, name, module
    call.__doc__ = f"{', '.join(plan.result_names)} = {module}.{name}({', '.join(plan.argument_names)})"
    return call


# ----------------------------------------------------------------------------------- arguments and results


def _text(value: Any) -> bytes | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"wanted a str, got {type(value).__name__}")
    return None if value is None else value.encode()


def _address(value: Any) -> int | None:
    return None if value is None else operator.index(value)


def _converter(kind: str) -> Callable[[Any], Any]:
    """From Python's argument to what ctypes takes."""
    if kind == "const char*":
        return _text
    target = _signatures.ctype(kind)
    if target in (ctypes.c_float, ctypes.c_double):
        return float
    return _address if target is ctypes.c_void_p else operator.index


def _is_structure(name: str) -> bool:
    return name in _signatures.table("structs")["structs"] or name in _signatures.table("structs")["opaque"]


def _element(kind: str) -> Any | None:
    """The element type of an array parameter; None when it is no array."""
    inner = _signatures.pointed_to(kind)
    if inner is None or kind == "const char*":
        return None
    plain = inner.removeprefix("const ").strip()
    return None if plain == "void" or _is_structure(plain) else _signatures.ctype(inner)


# Structures that functions fill in, and one that they only read although it is not const.
_RESULT_STRUCTURES = {"aclrtUtilizationInfo", "aclrtPtrAttributes", "aclCANNPackageVersion"}
_ARGUMENT_STRUCTURES = {"aclrtPhysicalMemProp"}


@cache
def _structure(name: str) -> Any:
    """The ctypes class of a structure."""
    description = _signatures.table("structs")["structs"][name]
    fields = []
    for field in description["fields"]:
        if "union" in field:
            raise _signatures.UnsupportedTypeError(f"{name} has a union")
        inner = field["type"].removeprefix("struct ")
        kind = _structure(inner) if _is_structure(inner) else _signatures.ctype(field["type"])
        fields.append((field["name"], kind * field["array"] if "array" in field else kind))
    made = type(name, (ctypes.Structure,), {"_fields_": fields})
    if ctypes.sizeof(made) != description["size"]:
        raise _signatures.UnsupportedTypeError(f"{name} has another layout than ctypes gives it")
    return made


def _filled(made: Any, values: Any) -> Any:
    """A structure from a dict; what the dict does not name is 0."""
    if not isinstance(values, dict):
        raise TypeError(f"wanted a dict with the members of {made.__name__}, got {type(values).__name__}")
    members = dict(made._fields_)
    if unknown := set(values) - set(members):
        raise KeyError(f"{made.__name__} has no member {sorted(unknown)[0]!r}; it has {', '.join(members)}")
    structure = made()
    for name, value in values.items():
        inner = members[name]
        setattr(structure, name, _filled(inner, value) if issubclass(inner, ctypes.Structure) else value)
    return structure


def _structure_argument(kind: str) -> Callable[[Any], Any] | None:
    """The converter for a parameter that points to a structure to be read; None when it does not."""
    inner = _signatures.pointed_to(kind) or ""
    name = inner.removeprefix("const ")
    if name not in _signatures.table("structs")["structs"]:
        return None
    if not inner.startswith("const ") and name not in _ARGUMENT_STRUCTURES:
        return None
    made = _structure(name)
    return lambda values: None if values is None else ctypes.byref(_filled(made, values))


def _output(kind: str) -> Any | None:
    """The ctypes type of what a C function writes through this parameter; None when it is an input."""
    inner = _signatures.pointed_to(kind)
    if inner is None or kind == "const char*" or inner.removeprefix("const ") == "void":
        return None
    structures = _signatures.table("structs")
    if inner in _RESULT_STRUCTURES:
        return _structure(inner)
    if inner.removeprefix("const ") in structures["opaque"]:
        return None  # a handle
    if (
        inner.startswith("const ")
        or inner.endswith("const")
        or inner == "char"
        or inner in structures["structs"]
    ):
        raise _signatures.UnsupportedTypeError(f"it takes {kind}")
    return _signatures.ctype(inner)


def _plain(value: Any) -> Any:
    """What a result looks like in Python."""
    if isinstance(value, ctypes.Structure):
        members = [name for name, *_ in value._fields_]
        return {_snake(name): _plain(getattr(value, name)) for name in members}
    if isinstance(value, ctypes._SimpleCData):
        return _plain(value.value) if not isinstance(value, ctypes.c_void_p) else value.value or 0
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return list(value) if isinstance(value, ctypes.Array) else value


def _counts_an_array(name: str) -> bool:
    return re.fullmatch(r"num|count|\w+(Num|Count|Size)", name) is not None


class _Plan:
    """What to do with each parameter of a C function, decided once."""

    def __init__(self, result: str, parameters: list[str]) -> None:
        self.steps: list[tuple[str, str, Any]] = []  # kind of step, name, type or converter
        counting = False
        for parameter in parameters:
            kind, name = _signatures.split(parameter)
            if kind in _signatures.table("structs")["callbacks"] and kind != "aclrtCallback":
                raise _signatures.UnsupportedTypeError(f"it takes a callback ({kind})")
            element = _element(kind) if counting else None
            counting = counting and element is not None
            if element is not None:
                self.steps.append(("list", name, element))
            elif re.fullmatch(r"num(Dims|Inputs|Outputs|Values|Workspaces)", name):
                self.steps.append(("count", name, None))
                counting = True
            elif (read := _structure_argument(kind)) is not None:
                self.steps.append(("value", name, read))
            elif (written := _output(kind)) is not None:
                self.steps.append(("output", name, written))
            else:
                self.steps.append(("value", name, _converter(kind)))
        outputs = [name for step, name, _ in self.steps if step == "output"]
        lengths = [name for step, name, _ in self.steps if step == "value" and _counts_an_array(name)]
        if outputs and lengths and lengths != ["valueSize"]:
            raise _signatures.UnsupportedTypeError(f"{lengths[0]} may be the length of an array")
        self.handle = _signatures.ctype(result) is ctypes.c_void_p
        self.nothing = result == "void"
        self.argument_names = [_snake(name) for step, name, _ in self.steps if step in ("value", "list")]
        self.result_names = [_snake(name) for step, name, _ in self.steps if step == "output"]
        self.result_names += [] if self.nothing else ["ret"]

    def convert(self, c_name: str, arguments: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
        if len(arguments) != len(self.argument_names):
            wanted = f"{len(self.argument_names)} arguments ({', '.join(self.argument_names)})"
            raise TypeError(f"{c_name} takes {wanted}, {len(arguments)} were given")
        given = iter(arguments)
        values: list[Any] = []
        outputs: list[Any] = []
        count_at = -1
        for step, name, kind in self.steps:
            if step == "count":
                count_at = len(values)
                values.append(None)
            elif step == "list":
                items = list(next(given))
                if values[count_at] not in (None, len(items)):
                    raise ValueError(f"{_snake(name)} has {len(items)} items, wanted {values[count_at]}")
                values[count_at] = len(items)
                values.append((kind * len(items))(*(map(_text, items) if kind is ctypes.c_char_p else items)))
            elif step == "output":
                outputs.append(kind())
                values.append(ctypes.byref(outputs[-1]))
            else:
                values.append(kind(next(given)))
        return values, outputs

    def results(self, returned: Any, outputs: list[Any]) -> Any:
        found = [_plain(output) for output in outputs]
        if not self.nothing:
            found.append(returned or 0 if self.handle else _plain(returned))
        return tuple(found) if len(found) > 1 else found[0] if found else None
