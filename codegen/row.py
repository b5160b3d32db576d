"""A row of the table: what every operator has. Its family, a subclass (codegen/families), knows the rest."""

from __future__ import annotations

import functools
import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from .reader import ROOT, Entry, Location, Text
from .schema import Argument, Schema

_COMMON_KEYS = ("op", "family", "module", "variants", "aliases", "special", "number_as_tensor")
MODULES = ("linalg", "fft", "special", "nn")
VARIANTS = ("function", "method", "inplace", "out", "cpp")
_CALL = re.compile(r"(\w+)\((.*)\)")
# What a formula may ask of a tensor without keeping it.
ATTRIBUTE = re.compile(r"\b(\w+)\.(sizes|dtype|meta|geometry|turned)\(\)")


@dataclass(frozen=True)
class VendorCall:
    """`aclnnAdd(self, other, alpha, out)`: the function and what goes into each of its parameters."""

    function: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class HandWritten:
    """`{kernel: name}`: a function of csrc/backends/npu."""

    function: str


@dataclass(frozen=True)
class Substitute:
    """`{substitute: name}`: operators that the device has stand in for the one it lacks."""

    function: str


Cell = VendorCall | HandWritten | Substitute


@dataclass(frozen=True)
class Formula:
    """Derivatives by some arguments; one for several arguments gives a tuple or an array."""

    names: tuple[str, ...]
    text: str


@dataclass(frozen=True, kw_only=True)
class Row(ABC):
    family: ClassVar[str]
    # Its keys beside _COMMON_KEYS; of `one_of`, exactly one must be there.
    required: ClassVar[tuple[str, ...]] = ()
    one_of: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[tuple[str, ...]] = ()
    default_variants: ClassVar[tuple[str, ...]] = ("function", "method")
    module_variants: ClassVar[tuple[str, ...]] = ("function",)  # torch.linalg and the like have no methods
    in_cpp: ClassVar[bool] = True  # ops:: has it
    made_of_others: ClassVar[bool] = False  # devices and gradient are those of its parts
    inplace_is_method: ClassVar[bool] = True

    schema: Schema
    location: Location
    area: str  # the stem of its file in ops/
    variants: tuple[str, ...]
    module: str = ""  # the namespace it lives in, with its prefix in the name: torch.linalg for linalg_inv
    aliases: tuple[str, ...] = ()  # other names of the same callable
    special: str | None = None
    number_as_tensor: bool = False
    factory: bool = False
    differentiable: bool = True
    formulas: tuple[Formula, ...] = ()
    node: str = ""  # the name of its node in the graph, where it has formulas

    # ---- reading ----

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        return (*_COMMON_KEYS, *cls.required, *cls.one_of, *cls.optional)

    @classmethod
    def part(cls, entry: Entry, schema: Schema) -> dict[str, Any]:
        """The fields that the family adds, from the keys of an entry."""
        return {}

    @classmethod
    def check(cls, entry: Entry, schema: Schema) -> None:
        """Refuses a schema that the family cannot serve."""
        if not schema.returns:
            entry.fail("the result () is for family lists", "op")

    # ---- names ----

    @property
    def name(self) -> str:
        return self.schema.full_name

    @property
    def cpp_name(self) -> str:
        return self.schema.name

    @property
    def id(self) -> str:
        """A C++ identifier for this overload."""
        return self.schema.full_name.replace(".", "_")

    @property
    def public_name(self) -> str:
        """The name in its module: `inv` for linalg_inv."""
        return self.cpp_name.removeprefix(f"{self.module}_") if self.module else self.cpp_name

    @property
    def scalar_variant(self) -> bool:
        """Whether it is the overload with a number that another row stands for."""
        return False

    @property
    def source(self) -> str:
        """For messages."""
        return f"{self.location}: {self.name}"

    # ---- what the generators ask every row ----

    @property
    def grad(self) -> dict[str, str]:
        """The formula of each argument that has one."""
        return {name: formula.text for formula in self.formulas for name in formula.names}

    @property
    def results(self) -> tuple[Argument, ...]:
        """What its kernel is given to write besides its arguments."""
        return self.schema.returns

    @property
    def result_names(self) -> list[str]:
        return [r.name for r in self.results]

    @property
    def kernel_parameters(self) -> str:
        return self.schema.parameters(*(f"{r.type.cpp} {r.name}" for r in self.results))

    @property
    def kernel_arguments(self) -> str:
        return ", ".join([*self.schema.names, *self.result_names])

    def support(self, device: str) -> str:
        """Its cell of the support matrix."""
        return "its parts" if self.made_of_others else "yes"

    @abstractmethod
    def declarations(self) -> list[str]:
        """Of its functions in ops::."""

    @abstractmethod
    def definitions(self) -> str: ...

    @abstractmethod
    def python_call(self, suffix: str) -> list[str]:
        """What its binding does with the arguments of a call; `suffix` is `_` in place."""

    def helper(self) -> tuple[str, str] | None:
        """The namespace and declaration of a function written by hand that ops:: calls."""
        return None

    def variant_of_number(self, entry: Entry) -> Self | None:
        """The overload with a number on the right, where the row stands for it too."""
        return None


@dataclass(frozen=True, kw_only=True)
class DeviceRow(Row):
    """Devices have kernels of their own for it."""

    cpu: str | None = None  # functor of the family, or a function of backends/cpu
    npu: Cell | None = None
    any_device: str | None = None  # one function instead, for operators that dispatch on two devices

    @classmethod
    def part(cls, entry: Entry, schema: Schema) -> dict[str, Any]:
        npu = read_cell(entry, "npu", schema)
        if "any_device" in entry and npu:
            entry.fail("any_device serves every device: npu says nothing beside it", "npu")
        return {"cpu": entry.text("cpu"), "npu": npu, "any_device": entry.text("any_device")}

    @property
    def has_table(self) -> bool:
        return self.any_device is None

    @property
    @abstractmethod
    def on_device(self) -> str:
        """A tensor whose device runs the kernel."""

    @property
    def host_work(self) -> str | None:
        """How much the CPU's kernel has to do, in elements."""
        return f"{self.on_device}.numel()"

    @property
    def cpu_declaration(self) -> str | None:
        """Of the CPU's kernel, where it is written by hand."""
        return f"void {self.cpu}({self.kernel_parameters});"

    def cpu_body(self) -> str:
        return f"  cpu::{self.cpu}({self.kernel_arguments});"

    def vendor_value(self, text: str) -> str:
        """What the table gives to a vendor's function, in C++."""
        return text.replace(".dtype", ".dtype()")

    def run(self, arguments: list[str], on_device: str) -> str:
        """The statement that runs the kernel."""
        values = ", ".join(arguments)
        if self.any_device:
            return f"  shared_kernels::{self.any_device}({values});"
        return (
            f"  if (!{on_device}.device().is_meta()) [[likely]]\n"
            f"    table::{self.id}.find({on_device}.device())({values});"
        )

    def helper(self) -> tuple[str, str] | None:
        if not self.any_device:
            return None
        return "shared_kernels", f"void {self.any_device}({self.kernel_parameters});"

    def support(self, device: str) -> str:
        if self.any_device or device == "meta":
            return "yes"
        if device == "cpu":
            return f"`{self.cpu}`" if self.cpu else "—"
        if isinstance(self.npu, Substitute):
            return "its parts"
        return f"`{self.npu.function}`" if self.npu else "—"


def areas(rows: list[Row]) -> list[str]:
    """The files of the table, in order; generated code is split by them."""
    return list(dict.fromkeys(row.area for row in rows))


@functools.cache
def vendor_operators() -> dict[str, list[str]]:
    """ACLNN operators and their parameters ("const aclTensor* self"), without the two that all of them have."""
    operators: dict[str, list[str]] = json.loads((ROOT / "softnpu/abi/operators.json").read_text())[
        "two_phase"
    ]
    return operators


def read_cell(entry: Entry, key: str, schema: Schema) -> Cell | None:
    """`npu:` and `scalar:`."""
    if entry.is_mapping(key):
        inner = entry.entry(key)
        for word, kind in (("kernel", HandWritten), ("substitute", Substitute)):
            name = inner.text(word)
            if name and len(list(inner)) == 1:
                return kind(str(name))
        entry.fail(f"{key}: wanted an ACLNN call, {{kernel: name}} or {{substitute: name}}", key)
    text = entry.text(key)
    return None if text is None else _vendor_call(entry, text, schema)


def _vendor_call(entry: Entry, text: Text, schema: Schema) -> VendorCall:
    match = _CALL.fullmatch(text)
    if not match:
        entry.fail(f"{text!r}: wanted a call such as aclnnAdd(self, other, alpha, out)", text)
    function, arguments = match[1], tuple(a.strip() for a in match[2].split(",") if a.strip())
    known = [*schema.names, *(r.name for r in schema.returns)]
    for argument in arguments:
        if argument.removesuffix(".dtype") not in known and not argument.lstrip("-").isdigit():
            entry.fail(
                f"{function} is given {argument!r}, which is no argument, result or number; "
                f"known: {', '.join(known)}",
                text,
            )
    parameters = vendor_operators().get(function)
    if parameters is None:
        entry.fail(f"softnpu/abi/operators.json has no operator {function}", text)
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
