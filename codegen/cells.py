"""What a row's cells hold: the call that a device runs, and the formulas of its derivatives."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from .reader import Entry, Text
from .schema import Schema

if TYPE_CHECKING:
    from .row import DeviceRow

_CALL = re.compile(r"(\w+)\((.*)\)")
# What a formula may ask of a tensor without keeping it.
ATTRIBUTE = re.compile(r"\b(\w+)\.(sizes|dtype|meta|geometry|turned|layout|block)\(\)")


@dataclass(frozen=True)
class VendorCall:
    """`function(self, other, out)` of a vendor's library: the function and what goes into each of its parameters."""

    function: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class HandWritten:
    """`{kernel: name}`: a function of the device's folder in csrc/backends."""

    function: str


@dataclass(frozen=True)
class Substitute:
    """`{substitute: name}`: operators that the device has stand in for the one it lacks."""

    function: str


@dataclass(frozen=True)
class Instantiated:
    """The row's own functor, which the device compiles too."""

    function: str


Cell = VendorCall | HandWritten | Substitute | Instantiated


@dataclass(frozen=True)
class Formula:
    """Derivatives by some arguments; one for several arguments gives a tuple or an array."""

    names: tuple[str, ...]
    text: str


class Library(ABC):
    """A vendor's library of operators, whose functions cells call."""

    name: ClassVar[str]
    example: ClassVar[str]  # of a call
    listed_in: ClassVar[str]  # the file that has its functions
    header: ClassVar[str]  # that cells which call it include

    @abstractmethod
    def parameters(self, function: str) -> list[str] | None:
        """What a function takes; None if there is no such function."""

    @abstractmethod
    def dims(self, name: str, rank: str) -> str:
        """A list of dimensions as the library takes it."""

    @abstractmethod
    def body(self, row: DeviceRow, call: VendorCall) -> list[str]:
        """The statements of a kernel."""

    def sources(self) -> dict[str, str]:
        """Files of its own beside those of the rows."""
        return {}


def read_cell(entry: Entry, key: str, schema: Schema, library: Library) -> Cell | None:
    """A device's key, or `scalar:`."""
    if entry.is_mapping(key):
        inner = entry.entry(key)
        for word, kind in (("kernel", HandWritten), ("substitute", Substitute)):
            name = inner.text(word)
            if name and len(list(inner)) == 1:
                return kind(str(name))
        entry.fail(f"{key}: wanted an {library.name} call, {{kernel: name}} or {{substitute: name}}", key)
    text = entry.text(key)
    return None if text is None else _vendor_call(entry, text, schema, library)


def _vendor_call(entry: Entry, text: Text, schema: Schema, library: Library) -> VendorCall:
    match = _CALL.fullmatch(text)
    if not match:
        entry.fail(f"{text!r}: wanted a call such as {library.example}", text)
    function, arguments = match[1], tuple(a.strip() for a in match[2].split(",") if a.strip())
    known = [*schema.names, *(r.name for r in schema.returns)]
    for argument in arguments:
        if argument.removesuffix(".dtype") not in known and not argument.lstrip("-").isdigit():
            entry.fail(
                f"{function} is given {argument!r}, which is no argument, result or number; "
                f"known: {', '.join(known)}",
                text,
            )
    parameters = library.parameters(function)
    if parameters is None:
        entry.fail(f"{library.listed_in} has no operator {function}", text)
    if len(parameters) != len(arguments):
        entry.fail(
            f"{function} takes {len(parameters)} arguments ({', '.join(parameters)}), "
            f"the row gives {len(arguments)}",
            text,
        )
    return VendorCall(function, arguments)


def read_formulas(entry: Entry, schema: Schema) -> tuple[Formula, ...]:
    """`grad:`, whose keys are arguments or several of them: `a, b: formula`."""
    if "grad" not in entry:
        return ()
    cell, formulas, seen = entry.entry("grad"), [], set()
    for key in cell:
        names = tuple(name.strip() for name in key.split(","))
        text = cell.text(key)
        if not text:
            cell.fail(f"grad for {key!r} has no formula", key)
        for name in names:
            argument = schema.argument(name)
            if argument is None:
                cell.fail(f"grad for {name!r}, which is no argument; known: {', '.join(schema.names)}", key)
            if not argument.type.in_graph:
                cell.fail(f"grad for {name!r}, which is a {argument.type}", key)
            if name in seen:
                cell.fail(f"grad for {name!r} stands here twice", key)
            seen.add(name)
        for match in ATTRIBUTE.finditer(text):
            argument = schema.argument(match[1])
            if argument is None or not argument.type.holds_tensors:
                cell.fail(f"the formula asks {match[0]}, but {match[1]!r} is no tensor argument", text)
        formulas.append(Formula(names, str(text)))
    return tuple(formulas)
