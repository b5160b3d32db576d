"""The operator table: ops/*.yaml, one row per operator. ops/README.md explains the grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from .schema import Argument, Schema, SchemaError, parse_schema

ROOT = Path(__file__).resolve().parent.parent
FAMILIES = (
    "unary", "predicate", "binary", "compare", "reduce", "kernel", "inplace", "view", "composite", "python",
    "foreach", "lists",
)  # fmt: skip
MODULES = ("linalg", "fft", "special", "nn")
_ELEMENTWISE = ("unary", "predicate", "binary", "compare")
_KEYS = {
    "op", "family", "variants", "dtype", "cpu", "npu", "kernel", "infer", "view", "composite", "grad",
    "scalar", "scalar_overload", "special", "differentiable", "factory", "self", "check", "python", "module",
    "aliases", "reads_ahead", "each",
}  # fmt: skip
_CALL = re.compile(r"^(\w+)\((.*)\)$")


@dataclass(frozen=True)
class VendorCall:
    """`aclnnAdd(self, other, alpha, out)`: the function and what goes into each of its parameters."""

    function: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Composition:
    """A cell made of other operators: a function of csrc/autograd/composition_*.cpp."""

    function: str


@dataclass(frozen=True)
class Row:
    schema: Schema
    family: str
    variants: tuple[str, ...]
    source: str  # "ops/binary.yaml: add.Tensor", for messages
    dtype: str = ""
    cpu: str | None = None  # functor of the family, or a function of backends/cpu
    npu: VendorCall | Composition | str | None = (
        None  # ACLNN call, other operators, or a function of backends/npu
    )
    kernel: str | None = None  # one function for every device (core/…), for ops that dispatch on two devices
    infer: str | None = None
    reads_ahead: bool = False  # an operand in the memory that is written is copied first
    check: str | None = None  # a function of infer/ that refuses bad values before anything is allocated
    view: str | None = None
    each: str | None = (
        None  # "add(self, other, alpha)": what a foreach operator calls for each entry of its lists
    )
    composite: str | None = None
    python: str | None = None  # "shape.rot90": a function of src/mindtorch_v2/_composed/shape.py
    module: str = ""  # the namespace it lives in, with its prefix in the name: torch.linalg for linalg_inv
    aliases: tuple[str, ...] = ()  # other names of the same callable
    file: str = ""  # the stem of its file in ops/
    grad: dict[str, str] = field(default_factory=dict)  # one entry per argument
    # The same as (arguments, formula); a formula for several arguments gives a tuple or an array.
    formulas: tuple[tuple[tuple[str, ...], str], ...] = ()
    special: str | None = None
    differentiable: bool = True
    factory: bool = False
    target: str = "self"  # the argument an in-place family writes
    scalar_variant: bool = False  # the generated `.Scalar` overload of a binary row

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
    def elementwise(self) -> bool:
        return self.family in _ELEMENTWISE


def _vendor_call(text: str) -> VendorCall:
    match = _CALL.match(text.strip())
    if not match:
        raise SchemaError(f"{text!r}: wanted a call such as aclnnAdd(self, other, alpha, out)")
    return VendorCall(match[1], tuple(a.strip() for a in match[2].split(",") if a.strip()))


def _npu_cell(cell: str | dict[str, str] | None) -> VendorCall | Composition | str | None:
    if cell is None:
        return None
    if isinstance(cell, dict):
        if len(cell) != 1 or not cell.keys() <= {"kernel", "composite"}:
            raise SchemaError(f"{cell!r}: wanted an ACLNN call, {{kernel: name}} or {{composite: name}}")
        return cell["kernel"] if "kernel" in cell else Composition(cell["composite"])
    return _vendor_call(cell)


def _formulas(cell: dict[str, Any]) -> tuple[tuple[tuple[str, ...], str], ...]:
    """`grad:` with `a, b: formula` split into its arguments."""
    return tuple((tuple(n.strip() for n in names.split(",")), str(text)) for names, text in cell.items())


def _default_variants(family: str, module: str) -> list[str]:
    if module:  # torch.linalg and the like have functions only
        return ["function", "out"] if family in (*_ELEMENTWISE, "reduce") else ["function"]
    if family in ("foreach", "lists"):
        return ["function", "inplace"] if family == "foreach" else ["function"]
    if family in _ELEMENTWISE:
        return ["function", "method", "inplace", "out"]
    return ["function", "method", "out"] if family == "reduce" else ["function", "method"]


def _rows(entry: dict[str, Any], defaults: dict[str, Any], source: str) -> list[Row]:
    cell = {**defaults, **entry}
    unknown = set(cell) - _KEYS
    if unknown:
        raise SchemaError(f"{source}: unknown keys {sorted(unknown)}; known: {sorted(_KEYS)}")
    schema = parse_schema(cell["op"])
    family = cell["family"]
    if family not in FAMILIES:
        raise SchemaError(f"{source}: unknown family {family!r}; known: {', '.join(FAMILIES)}")
    names = {a.name for a in schema.arguments}
    formulas = _formulas(cell.get("grad", {}))
    for group, _ in formulas:
        for name in group:
            if name not in names:
                raise SchemaError(f"{source}: grad for {name!r}, which is no argument of {schema.full_name}")
    if cell.get("module", "") not in ("", *MODULES):
        raise SchemaError(f"{source}: module {cell['module']!r}; known: {', '.join(MODULES)}")
    if ("python" in cell) != (family == "python"):
        raise SchemaError(f"{source}: {schema.full_name}: family python and the key python: go together")
    if ("each" in cell) != (family == "foreach"):
        raise SchemaError(f"{source}: {schema.full_name}: family foreach and the key each: go together")
    if (not schema.returns) != (family == "lists"):
        raise SchemaError(f"{source}: {schema.full_name}: family lists and the result () go together")
    row = Row(
        schema=schema,
        family=family,
        variants=tuple(cell.get("variants") or _default_variants(family, cell.get("module", ""))),
        source=f"{source}: {schema.full_name}",
        dtype=cell.get("dtype", "same" if family in ("unary", "reduce") else "promote"),
        cpu=cell.get("cpu"),
        npu=_npu_cell(cell.get("npu")),
        kernel=cell.get("kernel"),
        infer=cell.get("infer"),
        reads_ahead=cell.get("reads_ahead", False),
        check=cell.get("check"),
        view=cell.get("view"),
        each=cell.get("each"),
        composite=cell.get("composite"),
        python=cell.get("python"),
        module=cell.get("module", ""),
        aliases=tuple(cell.get("aliases", ())),
        file=Path(source).stem,
        grad={name: text for group, text in formulas for name in group},
        formulas=formulas,
        special=cell.get("special"),
        differentiable=cell.get("differentiable", True),
        factory=cell.get("factory", False),
        target=cell.get("self", "self"),
    )
    rows = [row]
    if family in ("binary", "compare") and len(schema.arguments) >= 2 and _takes_number(row, cell):
        rows.append(_scalar_row(row, cell.get("scalar"), cell.get("scalar_overload", "Scalar")))
    return rows


def _takes_number(row: Row, cell: dict[str, Any]) -> bool:
    """Whether PyTorch has the operator with a number on the right: it names the overload for two tensors
    `Tensor` then; elsewhere `scalar_overload` says so. `scalar_overload: null`: that one has its own row."""
    if "scalar_overload" in cell:
        return cell["scalar_overload"] is not None
    return row.schema.overload.startswith("Tensor") or "scalar" in cell


def _scalar_row(row: Row, cell: str | dict[str, str] | None, overload: str) -> Row:
    first, second, *rest = row.schema.arguments
    number = Argument(second.name, "Scalar")
    schema = replace(row.schema, overload=overload, arguments=(first, number, *rest))
    return replace(
        row,
        schema=schema,
        npu=_npu_cell(cell),
        grad={k: v for k, v in row.grad.items() if k == first.name},
        formulas=tuple((names, text) for names, text in row.formulas if names == (first.name,)),
        scalar_variant=True,
    )


def stems(rows: list[Row]) -> list[str]:
    """The files of the table, in order; generated code is split by them."""
    return list(dict.fromkeys(row.file for row in rows))


def load_table(folder: Path = ROOT / "ops") -> list[Row]:
    rows: list[Row] = []
    seen: dict[str, str] = {}
    for path in sorted(folder.glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        defaults = {k: v for k, v in document.items() if k != "ops"}
        for entry in document["ops"]:
            for row in _rows(entry, defaults, f"{path.parent.name}/{path.name}"):
                if row.name in seen:
                    raise SchemaError(f"{row.source}: already defined in {seen[row.name]}")
                seen[row.name] = row.source
                rows.append(row)
    return rows
