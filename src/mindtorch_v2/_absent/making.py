"""Makes the functions, classes and enumerations of the table. Note [Names that refuse]."""

from __future__ import annotations

import enum
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

from .._C import dtype
from .table import NAMES, REASONS

_PACKAGE = __name__.rpartition(".")[0].rpartition(".")[0]


@cache
def _modules() -> frozenset[str]:
    """The modules of the table and the packages around them."""
    found: set[str] = set()
    for name in NAMES:
        parts = name.split(".")
        found.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return frozenset(found)


def is_module(name: str) -> bool:
    """Whether the table has a module of that name inside the package."""
    return name in _modules()


@cache
def _entries(module: str) -> dict[str, str]:
    """The names of a module: what each is, as the table writes it."""
    entries = {}
    for entry in NAMES.get(module, "").split():
        name = entry.lstrip("@?-%").partition("=")[0].partition("(")[0]
        entries[name] = entry
    return entries


def _why(module: str) -> str:
    """The reason of the longest beginning of the module's name that has one."""
    while module and module not in REASONS:
        module = module.rpartition(".")[0]
    return REASONS[module]


def describe(module: str) -> tuple[str, list[str]]:
    """What a module of the table says of itself, and the names that a star imports."""
    names = [name for name in _entries(module) if not name.startswith("_")]
    return f"``torch.{module}``: names that refuse when they are used: {_why(module)}.", names


def _is_file(module: str, name: str) -> bool:
    """Whether a package inside ours has such a file or folder."""
    package = f"{_PACKAGE}.{module}"
    return hasattr(sys.modules.get(package), "__path__") and find_spec(f"{package}.{name}") is not None


def find(module: str, name: str) -> Any:
    """The attribute of a module: a name of its row, or a module inside it, of the table or a file."""
    if (entry := _entries(module).get(name)) is not None:
        return _made(f"{module}.{name}".lstrip("."), entry, _why(module))
    inside = f"{module}.{name}".lstrip(".")
    if is_module(inside) or _is_file(module, name):
        return import_module(f"{_PACKAGE}.{inside}")
    raise AttributeError(f"module 'torch{module and '.'}{module}' has no attribute '{name}'")


@cache
def _made(name: str, entry: str, why: str) -> Any:
    """How the table writes what a name is: ``@mark``, ``?question``, ``-search``, ``%dtype``,
    ``Enumeration=A,B``, ``Class``, ``Class(member,member)``, ``function``."""
    module, _, short = name.rpartition(".")
    if entry.startswith("@"):
        return _mark(name)
    if entry.startswith("?"):
        return _named(lambda *args, **kwargs: False, name, "False: there is none.")
    if entry.startswith("-"):
        return _named(lambda *args, **kwargs: None, name, "None: there is none to be found.")
    if entry.startswith("%"):
        return _dtype(name)
    if "=" in entry:
        return enum.Enum(short, entry.partition("=")[2].split(","), module=f"torch.{module}")
    if "(" in entry or short.lstrip("_")[:1].isupper():
        return _class(name, entry.partition("(")[2].rstrip(")").replace(",", " ").split(), why)
    return _function(name, why)


def _dtype(name: str) -> Any:
    """A dtype or the like that no tensor has: a key for dictionaries. Functions say its name when they refuse it."""
    described: dict[str, Any] = {"__repr__": lambda self: f"torch.{name}", "__doc__": "Not of this library."}
    if name[-1].isdigit():  # uint4, quint8, float4_e2m1fn_x2; the others are kinds of quantization
        described["__class__"] = property(lambda self: dtype)
    for question in ("is_floating_point", "is_complex", "is_signed"):
        described[question] = False
    return type(f"torch.{name}, which is not in this library", (), described)()


def _mark(name: str) -> Any:
    """A decorator for a compiler or an exporter that is not here: what it marks is what it was."""

    def mark(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and (callable(args[0]) or isinstance(args[0], str)):
            return args[0]
        return lambda function: function

    return _named(mark, name, "A mark: returns what it is given, or a decorator that does.")


def _function(name: str, why: str) -> Any:
    def refusing(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"torch.{name} is not in this library: {why}")

    refusing.__refuses__ = True  # type: ignore[attr-defined] # Note [Names that refuse]
    return _named(refusing, name, f"Raises: {why}.")


def _named(function: Any, name: str, doc: str) -> Any:
    module, _, short = name.rpartition(".")
    function.__name__ = function.__qualname__ = short
    function.__module__, function.__doc__ = f"torch.{module}".rstrip("."), doc
    return function


_ERRORS = ("Error", "Exception", "Warning")


def _class(name: str, members: list[str], why: str) -> type:
    module, _, short = name.rpartition(".")
    described = {"__module__": f"torch.{module}".rstrip("."), "__doc__": f"No object of it is made: {why}."}
    if short.endswith(_ERRORS):
        base: type = UserWarning if short.endswith("Warning") else RuntimeError
        return type(short, (base,), described)

    def refusing(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"torch.{name} is not in this library: {why}")

    own: dict[str, Any] = {member: staticmethod(_function(f"{name}.{member}", why)) for member in members}
    return type(
        short,
        (),
        {
            **described,
            **own,
            "__refuses__": True,
            "__new__": refusing,
            "__class_getitem__": classmethod(lambda cls, item: cls),
        },
    )
