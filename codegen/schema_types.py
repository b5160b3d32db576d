"""The types of schemas, one object each: what a type is in C++, to the parser, in Python, and to a node of autograd.

A new type is a new object here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

Literal = Callable[[str], str | None]  # a default of the schema as C++; None: it is no value of the type


def _matching(pattern: str, template: str = "{}") -> Literal:
    wanted = re.compile(pattern)
    return lambda text: template.format(text) if wanted.fullmatch(text) else None


def _truth(text: str) -> str | None:
    return {"True": "true", "False": "false"}.get(text)


_WHOLE = r"-?\d+"
_REAL = r"-?(\d+(\.\d*)?(e[-+]?\d+)?|inf)"
_nothing = _matching("(?!)")


@dataclass(frozen=True)
class Type:
    name: str  # as schemas spell it
    cpp: str  # of a C++ parameter
    kind: str  # of csrc/bindings/parser.h, by which a call finds its overload
    reader: str  # the member of Bound that gives the value
    stub: str  # the annotation, in the names of codegen/stub_native.pyi
    shown: str  # in the parser's error messages
    literal: Literal = _nothing
    none: str = "std::nullopt"  # None in C++, where the type takes it
    empty: str = ""  # [] in C++
    fallback: bool = False  # the reader takes the default as its last argument
    nullable: bool = False
    kept_as: str = ""  # the type in which a node keeps the value, if it is not `cpp` by value
    kept_by_range: bool = False  # … and the value is a span, from which no vector is made in one step
    tensor: bool = False  # one tensor
    tensor_list: bool = False
    in_graph: bool = False  # gradients flow to its tensors
    length: int = 0  # N of int[N], for which one int may stand
    symbolic: bool = False  # SymInt: a size, a count or an offset; other tensors stand for it than for an int

    def __str__(self) -> str:
        return self.name

    @property
    def holds_tensors(self) -> bool:
        return self.tensor or self.tensor_list

    @property
    def kept(self) -> str:
        return self.kept_as or self.cpp.removeprefix("const ").removesuffix("&")

    def store(self, name: str) -> str:
        """The statement by which a node keeps the argument."""
        if self.holds_tensors:
            return f"node->{name}_.save({name});"
        if self.kept_by_range:
            return f"node->{name}_.assign({name}.begin(), {name}.end());"
        return f"node->{name}_ = {self.kept}({name});"

    def load(self, name: str) -> str:
        """The declaration by which a formula gets it back."""
        if self.holds_tensors:
            unpacked = "Tensor" if self.tensor else "std::vector<Tensor>"
            return f"const {unpacked} {name} = {name}_.unpack(*this);"
        return f"const auto& {name} = {name}_;"

    def default(self, text: str) -> str | None:
        """A default of the schema in C++; None where it is no value of this type."""
        if text == "None":
            return self.none if self.nullable else None
        if text == "[]":
            return self.empty or None
        return self.literal(text)

    def falls_back_to(self, text: str) -> bool:
        """Whether native code gets this default where a call does not give the argument."""
        return self.fallback or (text == "None" and self.nullable) or (text == "[]" and bool(self.empty))

    def value(self, index: int, default: str | None) -> str:
        """What the parser gives for the parameter of that index."""
        values = [str(index)]
        if self.length > 1:
            values.append(str(self.length))
        if self.fallback and default is not None and default != self.empty:
            values.append(default)
        return f"b.{self.reader}({', '.join(values)})"


def _optional(base: Type, cpp: str, reader: str = "", none: str = "std::nullopt", kept_as: str = "") -> Type:
    """`base?`"""
    return replace(
        base,
        name=f"{base.name}?",
        cpp=cpp,
        reader=reader or f"{base.reader}_or_none",
        stub=f"{base.stub} | None",
        none=none,
        fallback=False,
        nullable=True,
        kept_as=kept_as,
        kept_by_range=False,
    )


def _ints(length: int = 0) -> Literal:
    """A list of ints; of a certain length, one int stands for all of them."""
    template = "DimList(Dims{{{}}})" if length == 1 else "Dims{{{}}}"

    def literal(text: str) -> str | None:
        if length and re.fullmatch(_WHOLE, text):
            return template.format(", ".join([text] * length))
        return template.format(text[1:-1]) if re.fullmatch(rf"\[{_WHOLE}(, {_WHOLE})*\]", text) else None

    return literal


TENSOR = Type(
    "Tensor", "const Tensor&", "tensor", "tensor", "Tensor", "Tensor",
    kept_as="autograd::SavedTensor", tensor=True, in_graph=True,
)  # fmt: skip
OPTIONAL_TENSOR = _optional(TENSOR, "const Tensor&", "tensor", "Tensor()", TENSOR.kept_as)
TENSORS = Type(
    "Tensor[]", "TensorList", "tensor_list", "tensors", "Sequence[Tensor]", "tuple of Tensors",
    kept_as="autograd::SavedList", tensor_list=True, in_graph=True,
)  # fmt: skip
OPTIONAL_TENSORS = Type(
    "Tensor?[]", "TensorList", "optional_tensor_list", "optional_tensors", "Sequence[Tensor | None]",
    "tuple of Tensors", kept_as="autograd::SavedList", tensor_list=True,
)  # fmt: skip
SCALAR = Type(
    "Scalar", "const Scalar&", "number", "number", "Number", "Number",
    literal=_matching(f"{_REAL}|True|False", "Scalar({})"), fallback=True,
)  # fmt: skip
SCALARS = Type(
    "Scalar[]", "std::span<const Scalar>", "real_list", "numbers", "Sequence[Number]", "tuple of Scalars",
    kept_as="std::vector<Scalar>", kept_by_range=True,
)  # fmt: skip
INT = Type("int", "int64_t", "integer", "integer", "_int", "int", literal=_matching(_WHOLE), fallback=True)
INTS = Type(
    "int[]", "IntList", "int_list", "ints", "Sequence[_int]", "tuple of ints",
    literal=_ints(), empty="IntList()", kept_as="Dims",
)  # fmt: skip
DIMS = Type(
    "int[1]", "const DimList&", "dim_list", "dims", "_int | Sequence[_int]", "int or tuple of ints",
    literal=_ints(1), empty="DimList()", fallback=True, length=1,
)  # fmt: skip
FLOAT = Type(
    "float", "double", "real", "real", "_float", "float", literal=_matching(_REAL), fallback=True
)  # fmt: skip
FLOATS = Type(
    "float[]", "std::span<const double>", "real_list", "reals", "Sequence[_float]", "tuple of floats",
    empty="std::span<const double>()", kept_as="std::vector<double>", kept_by_range=True,
)  # fmt: skip
BOOL = Type("bool", "bool", "boolean", "boolean", "_bool", "bool", literal=_truth, fallback=True)
OPTIONAL_BOOL = _optional(BOOL, "std::optional<bool>")
STR = Type(
    "str", "std::string_view", "text", "text", "str", "str",
    literal=lambda text: '"' + text.strip("'\"") + '"' if re.fullmatch(r"'\w*'|\"\w*\"|\w+", text) else None,
    fallback=True, kept_as="std::string",
)  # fmt: skip
SCALAR_TYPE = Type("ScalarType", "DType", "dtype", "dtype", "_dtype", "torch.dtype")
OPTIONAL_SCALAR_TYPE = _optional(SCALAR_TYPE, "std::optional<DType>")
MEMORY_FORMAT = Type(
    "MemoryFormat", "std::optional<MemoryFormat>", "memory_format", "format", "_memory_format",
    "torch.memory_format",
    literal={"contiguous_format": "MemoryFormat::contiguous"}.get, fallback=True,
)  # fmt: skip
_DEVICE = Type("Device", "Device", "device", "device", "DeviceLike", "torch.device")
OPTIONAL_DEVICE = _optional(_DEVICE, "std::optional<Device>")
# Also one that no tensor can be on: whoever reads it decides what that means.
OPTIONAL_DEVICE_NAME = replace(OPTIONAL_DEVICE, name="DeviceName?", reader="device_name_or_none")
LAYOUT = Type("Layout", "", "layout", "", "object", "torch.layout", nullable=True)  # C++ does without
ANY = Type(
    "Any", "", "any", "", "Any", "object", nullable=True
)  # C++ does without; whoever reads it checks it
_GENERATOR = Type("Generator", "Generator*", "generator", "generator", "Generator", "torch.Generator")

_TYPES = {
    type_.name: type_
    for type_ in (
        TENSOR, OPTIONAL_TENSOR, TENSORS, OPTIONAL_TENSORS, SCALAR, SCALARS, INT, INTS, DIMS, FLOAT, FLOATS,
        BOOL, OPTIONAL_BOOL, STR, SCALAR_TYPE, OPTIONAL_SCALAR_TYPE, OPTIONAL_DEVICE, OPTIONAL_DEVICE_NAME,
        MEMORY_FORMAT, LAYOUT, ANY,
        _optional(SCALAR, "const std::optional<Scalar>&"),
        _optional(INT, "std::optional<int64_t>"),
        _optional(INTS, "const OptionalInts&"),
        _optional(DIMS, "const DimList&", "dims", "DimList()"),
        _optional(FLOAT, "std::optional<double>"),
        _optional(FLOATS, "const std::optional<std::vector<double>>&"),
        _optional(STR, "std::optional<std::string_view>", kept_as="std::optional<std::string>"),
        _optional(MEMORY_FORMAT, "std::optional<MemoryFormat>"),
        _optional(_GENERATOR, "Generator*", "generator", "nullptr"),
    )
}  # fmt: skip
OUT_TENSORS = _optional(TENSORS, "")  # out= of operators with several results, which no schema has


@functools.cache
def named(name: str) -> Type | None:
    """The type that a schema spells so."""
    if name.startswith("SymInt"):
        plain = named(name.replace("SymInt", "int"))
        return plain and replace(plain, name=name, symbolic=True)
    match = re.fullmatch(r"int\[([2-9])\](\??)", name)
    if match is None:
        return _TYPES.get(name)
    length = int(match[1])
    sized = replace(
        DIMS, name=f"int[{length}]", cpp="IntList", reader="sized_ints", kept_as="Dims",
        literal=_ints(length), empty="IntList()", length=length,
    )  # fmt: skip
    return _optional(sized, "const OptionalInts&") if match[2] else sized


def names() -> list[str]:
    return sorted([*_TYPES, "int[N]", "int[N]?", "SymInt", "SymInt[]", "SymInt[N]"])
