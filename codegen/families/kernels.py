"""Operators with kernels written by hand: with results of their own, or writing what they are given."""

from __future__ import annotations

from dataclasses import dataclass

from .. import autograd, bindings, dispatch
from ..devices import CELLS
from ..reader import Entry
from ..row import DeviceRow
from ..schema import Argument, Schema
from .fresh import Fresh


@dataclass(frozen=True, kw_only=True)
class Kernel(Fresh):
    family = "kernel"
    required = ("infer",)
    one_of = ("cpu", "any_device")
    optional = (*CELLS, "check", "reads_ahead", "grad", "jvp")

    def shape_rule(self, outputs: str) -> str:
        return f"{self.infer}({', '.join([*self.values, outputs])})"


def _written(schema: Schema) -> list[str]:
    return [a.name for a in schema.arguments if a.mutable and a.alias == schema.returns[0].alias]


@dataclass(frozen=True, kw_only=True)
class InPlace(DeviceRow):
    """Writes the argument that its result is an alias of: `fill_(Tensor(a!) self, …) -> Tensor(a!)`."""

    family = "inplace"
    one_of = ("cpu", "any_device")
    optional = (*CELLS, "infer", "grad", "jvp")

    @classmethod
    def check(cls, entry: Entry, schema: Schema) -> None:
        super().check(entry, schema)
        if len(schema.returns) != 1 or len(_written(schema)) != 1:
            entry.fail("family inplace wants Tensor(a!) of one argument and of the result", "op")

    @property
    def target(self) -> str:
        """The argument it writes and returns."""
        return _written(self.schema)[0]

    @property
    def results(self) -> tuple[Argument, ...]:
        return ()

    @property
    def on_device(self) -> str:
        return self.target

    @property
    def _draws(self) -> bool:
        """Two draws for one place would leave that of the last; a value that is the same everywhere may be written
        more than once."""
        return any(a.type.cpp == "Generator*" for a in self.schema.arguments)

    def declarations(self) -> list[str]:
        return [f"const Tensor& {self.cpp_name}({self.schema.parameters(defaults=True)});"]

    def definitions(self) -> str:
        names, target = self.schema.names, self.target
        # What writes another argument than self only fills memory that a factory has just made.
        refuses = target == "self"
        return "\n".join([
            *dispatch.inplace_elsewhere(self, self.cpp_name, target, refuses),
            f"const Tensor& {self.cpp_name}({self.schema.parameters()}) {{",
            dispatch.scope(self),
            f"  autograd::check_inplace({target});",
            *dispatch.elsewhere(self, self.cpp_name),
            *([f"  infer::check_written_once({target});"] if self._draws else []),
            *([f"  infer::{self.infer}({', '.join(names)});"] if self.infer else []),
            *autograd.record_inplace(self, target, self.run(names, target), refuses),
            f"  return {target};",
            "}",
            "",
        ])  # fmt: skip

    def python_call(self, suffix: str) -> list[str]:
        return bindings.inplace_call(self, suffix, self.schema.names.index(self.target))


@dataclass(frozen=True, kw_only=True)
class Lists(DeviceRow):
    """Writes lists of tensors; a kernel of the device of the first entry does it."""

    family = "lists"
    default_variants = ("function",)
    required = ("infer",)
    one_of = ("cpu", "any_device")
    optional = CELLS

    @classmethod
    def check(cls, entry: Entry, schema: Schema) -> None:
        if schema.returns or not schema.arguments or not schema.arguments[0].type.tensor_list:
            entry.fail("family lists wants a list of tensors first and the result ()", "op")

    @property
    def on_device(self) -> str:
        return f"{self.schema.names[0]}[0]"

    @property
    def host_work(self) -> None:
        return None

    def declarations(self) -> list[str]:
        return dispatch.declarations(self)

    def definitions(self) -> str:
        names = self.schema.names
        handed_over = f"  {dispatch.hand_over(self, 'void')};"
        return "\n".join([
            *dispatch.elsewhere_definition(self, self.cpp_name, "void", [handed_over]),
            f"void {self.cpp_name}({self.schema.parameters()}) {{",
            dispatch.scope(self),
            *dispatch.elsewhere(self, self.cpp_name),
            f"  infer::{self.infer}({', '.join(names)});",
            f"  if ({names[0]}.empty()) return;",
            *self._for_written("autograd::check_inplace({});"),
            self.run(names, self.on_device),
            *self._for_written("{}.bump_version();"),
            "}",
            "",
        ])  # fmt: skip

    def _for_written(self, statement: str) -> list[str]:
        return [
            f"  for (const Tensor& t : {a.name}) {statement.format('t')}"
            if a.type.tensor_list
            else f"  {statement.format(a.name)}"
            for a in self.schema.arguments
            if a.mutable
        ]

    def python_call(self, suffix: str) -> list[str]:
        return [f"        {bindings.native_call(self)};", "        Py_RETURN_NONE;"]
