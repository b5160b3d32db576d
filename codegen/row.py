"""A row of the table: what every operator has. Its family, a subclass (codegen/families), knows the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from .cells import Cell, Formula, Library, Substitute, read_cell
from .devices import ACCELERATORS, CELLS, HOST
from .reader import Entry, Location
from .schema import Argument, Schema
from .schema_types import ANY

if TYPE_CHECKING:
    from .forward import Forward

_COMMON_KEYS = (
    "op", "family", "module", "variants", "aliases", "special", "number_as_tensor", "out_dtype", "seen_as", "batch",
    "tags",
)  # fmt: skip
# Packages whose own operators are rows: torch.ops.torchvision.nms.
PACKAGES = ("torchvision", "image", "torchaudio", "_torchaudio")
MODULES = ("linalg", "fft", "special", "nn", "aten", *PACKAGES)
VARIANTS = ("function", "method", "inplace", "out", "cpp")


# PyTorch's words for most operators that do not cast into out=.
OUT_DTYPES = {
    "exact": "Expected out tensor to have dtype {wanted.c}, but got {got.c} instead",
    "unchanged": "Found dtype {got} but expected {wanted}",
}
# What an out= has to be for operators that cast within a kind of dtypes.
OUT_KINDS = {
    "complex": "is_complex(out.dtype())",
    "floating": "is_floating(out.dtype())",
    "truth": "out.dtype() == DType::boolean || out.dtype() == DType::uint8",
}


@dataclass(frozen=True, kw_only=True)
class Row(ABC):
    family: ClassVar[str]
    # Its keys beside _COMMON_KEYS; of `one_of`, exactly one must be there.
    required: ClassVar[tuple[str, ...]] = ()
    one_of: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[tuple[str, ...]] = ()
    default_variants: ClassVar[tuple[str, ...]] = ("function", "method")
    module_variants: ClassVar[tuple[str, ...]] = ("function",)  # torch.linalg and the like have no methods
    in_cpp: ClassVar[bool] = True  # its arguments are read in C++
    gives_objects: ClassVar[bool] = False  # its result may be Any
    made_of_others: ClassVar[bool] = False  # devices and gradient are those of its parts
    inplace_is_method: ClassVar[bool] = True
    default_forward: ClassVar[str] = ""  # the word of jvp: where a row has none
    headers: ClassVar[tuple[str, ...]] = ()  # that its functions in ops:: need besides those of all rows

    schema: Schema
    location: Location
    area: str  # the stem of its file in ops/
    variants: tuple[str, ...]
    module: str = ""  # the namespace it lives in, with its prefix in the name: torch.linalg for linalg_inv
    aliases: tuple[str, ...] = ()  # other names, each a callable of its own
    special: str | None = None
    number_as_tensor: bool = False
    out_dtype: str = ""  # what is said about an out= of another dtype, where that is not cast
    out_kind: str = ""  # the dtypes that are meant, one of OUT_KINDS; without one, that of the result
    # By variant (function, inplace, out): the operator of PyTorch's that handlers see instead.
    seen_as: Mapping[str, str] = field(default_factory=dict, hash=False)
    batch: str = ""  # how vmap runs it on batches: see codegen/batch.py
    tags: tuple[str, ...] = ()  # what it says of itself: see codegen/tags.py
    factory: bool = False
    differentiable: bool = True
    formulas: tuple[Formula, ...] = ()
    forward: Forward | None = None  # how tangents come of tangents; None: by the gradient
    shown_as: str | None = None  # its name in messages about wrong arguments, if it is another
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
        if schema.returns[0].type is ANY and not cls.gives_objects:
            entry.fail("the result Any is for rows with call: or python:", "op")

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
    def qualified_name(self) -> str:
        """The name with its namespace, without an overload: aten::add, torchvision::nms."""
        return f"{self.module}::{self.public_name}" if self.module in PACKAGES else f"aten::{self.cpp_name}"

    @property
    def scalar_variant(self) -> bool:
        """Whether it is the overload with a number that another row stands for."""
        return False

    @property
    def source(self) -> str:
        """For messages."""
        return f"{self.location}: {self.name}"

    # ---- what the generators ask every row ----

    def refusal(self, target: str, dtype: str) -> list[str]:
        """The statement that refuses an out= of another dtype than the result's."""
        if not self.out_dtype or self.out_kind:
            return []
        return [f'  results::require_dtype({target}, {dtype}, "{self.out_dtype}");']

    def refusal_of_kind(self) -> list[str]:
        """The statement that refuses an out= of another kind of dtype, before anything is computed."""
        if not self.out_kind:
            return []
        return [f'  results::require_kind(out, {OUT_KINDS[self.out_kind]}, "{self.out_dtype}");']

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
        """The namespace and declaration of a function written by hand that ops:: calls: composites, any_device."""
        return None

    @property
    def calls(self) -> tuple[str, ...]:
        """Other operators that its function in ops:: is made of."""
        return ()

    @property
    def bound_to(self) -> str:
        """The operator of another row that its binding calls."""
        return ""

    def variant_of_number(self, entry: Entry) -> Self | None:
        """The overload with a number on the right, where the row stands for it too."""
        return None


def read_cells(entry: Entry, schema: Schema, key: str | None = None) -> dict[str, Cell]:
    """The cells of accelerators, under their names or under one key for all."""
    found = {}
    for device in ACCELERATORS:
        if key and device.functors:
            continue  # it compiles the functor for numbers, too
        cell = device.vendor and read_cell(entry, key or device.name, schema, device.vendor)
        if cell:
            found[device.name] = cell
    return found


def with_substitutes(cells: dict[str, Cell]) -> dict[str, Cell]:
    """What stands in for an operator that one accelerator lacks serves every other that has no cell of its own."""
    shared = next((cell for cell in cells.values() if isinstance(cell, Substitute)), None)
    return {device: shared for device in CELLS if shared} | cells


@dataclass(frozen=True, kw_only=True)
class DeviceRow(Row):
    """Devices have kernels of their own for it."""

    cpu: str | None = None  # functor of the family, or a function of backends/cpu
    cells: Mapping[str, Cell] = field(default_factory=dict, hash=False)  # of accelerators, by name
    any_device: str | None = None  # one function instead, for operators that dispatch on two devices
    infer: str | None = (
        None  # a function of csrc/infer: the shape rule of results, or a check of what is written
    )

    @classmethod
    def part(cls, entry: Entry, schema: Schema) -> dict[str, Any]:
        cells = read_cells(entry, schema)
        if "any_device" in entry and cells:
            first = next(iter(cells))
            entry.fail(f"any_device serves every device: {first} says nothing beside it", first)
        return {key: entry.text(key) for key in ("cpu", "any_device", "infer")} | {
            "cells": with_substitutes(cells)
        }

    def __getattr__(self, name: str) -> Cell | None:
        """The cell of an accelerator, by its name."""
        if name in CELLS:
            return self.cells.get(name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

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

    def rule_declarations(self) -> list[str]:
        """Of its functions of csrc/infer."""
        outputs = (f"Output& {r.name}" for r in self.results)
        return [f"void {self.infer}({self.schema.parameters(*outputs)});"] if self.infer else []

    def cpu_body(self) -> str:
        return f"  cpu::{self.cpu}({self.kernel_arguments});"

    def instantiated_body(self) -> list[str]:
        """The statements of a kernel that is the row's functor, compiled by the device."""
        raise NotImplementedError(f"{self.source}: family {self.family} has no functors")

    def vendor_value(self, text: str, library: Library) -> str:
        """What the table gives to a vendor's function, in C++."""
        return text.replace(".dtype", ".dtype()")

    def run(self, arguments: list[str], on_device: str) -> str:
        """The statement that runs the kernel."""
        values = ", ".join(arguments)
        if self.any_device:
            return f"  any_device::{self.any_device}({values});"
        statement = (
            f"  if (!{on_device}.device().is_meta()) [[likely]]\n"
            f"    table::{self.id}.find({on_device}.device())({values});"
        )
        if any(isinstance(cell, Substitute) for cell in self.cells.values()):
            statement += f"\n  else if (auto* parts = parts_on_meta(table::{self.id})) parts({values});"
        return statement

    def helper(self) -> tuple[str, str] | None:
        if not self.any_device:
            return None
        return "any_device", f"void {self.any_device}({self.kernel_parameters});"

    def support(self, device: str) -> str:
        if self.any_device or device == "meta":
            return "yes"
        if device == HOST.name:
            return f"`{self.cpu}`" if self.cpu else "—"
        cell = self.cells.get(device)
        if isinstance(cell, Substitute):
            return "its parts"
        return f"`{cell.function}`" if cell else "—"


def areas(rows: list[Row]) -> list[str]:
    """The files of the table, in order; generated code is split by them."""
    return list(dict.fromkeys(row.area for row in rows))
