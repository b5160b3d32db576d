"""Schemas of custom operators: read from text or from the annotations of a function, and matched with calls."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import re
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, NoReturn, get_args, get_origin

from .. import _C
from .._C import Tensor

_REQUIRED = object()
_DTYPE_NUMBERS = {  # how a schema writes a dtype
    "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
    "complex64": 9, "complex128": 10, "bool": 11, "bfloat16": 15,
}  # fmt: skip


@dataclass
class Argument:
    """One argument of a schema."""

    name: str
    type: str  # without the alias annotation: "Tensor", "int[]", "float?"
    default: Any = _REQUIRED
    keyword_only: bool = False
    mutated: bool = False
    alias: str = ""  # a of Tensor(a): results called so share its memory
    length: int = 0  # N of int[N], for which one int may stand

    @property
    def kwarg_only(self) -> bool:
        return self.keyword_only

    @property
    def is_write(self) -> bool:
        return self.mutated

    @property
    def alias_info(self) -> Argument | None:
        return self if self.alias or self.mutated else None

    def has_default_value(self) -> bool:
        return self.default is not _REQUIRED

    @property
    def default_value(self) -> Any:
        return None if self.default is _REQUIRED else self.default


@dataclass
class Schema:
    """The signature of an operator. ``text`` is its arguments and results as PyTorch prints them."""

    qualified: str  # with the name of the overload
    text: str
    arguments: list[Argument]

    def __str__(self) -> str:
        return f"{self.qualified}{self.text}"

    @property
    def name(self) -> str:
        return self.qualified.partition(".")[0]

    @property
    def overload_name(self) -> str:
        return self.qualified.partition(".")[2]

    @property
    def is_mutable(self) -> bool:
        return any(argument.mutated for argument in self.arguments)

    @property
    def returns(self) -> list[Argument]:
        """The results, which have a type and, where they share memory, the name of that."""
        text = self.text.rpartition("->")[2].strip()
        parts = _split(text[1:-1]) if text.startswith("(") else [text]
        results = [_argument(_nameless(part), self.name, False) for part in parts]
        written = [a for a in self.arguments if a.mutated]
        outs = [a for a in written if a.keyword_only]
        for index, result in enumerate(results):  # what is written is returned: the table says the first half
            if not result.alias and len(outs) == len(results):
                result.alias = outs[index].alias
            result.mutated = any(a.alias == result.alias and result.alias for a in written)
        return results

    @functools.cached_property
    def _places(self) -> list[tuple[Argument, str, Any, int, Callable[[Any], bool]]]:
        """What matching a call looks at for each argument, found once."""
        return [(a, a.name, a.default, a.length, _check_of(a.type)) for a in self.arguments]

    @functools.cached_property
    def _positional(self) -> int:
        return sum(not argument.keyword_only for argument in self.arguments)

    def values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """All values of a call in the schema's order, with the defaults; refuses what the schema does not allow."""
        count, taken = len(args), 0
        if count > self._positional:
            raise RuntimeError(
                f"{self.name}() takes {self._positional} positional argument(s) but {count} was/were given.  "
                f"Declaration: {self}"
            )
        values = list(args)
        for position, (argument, name, default, length, accepts) in enumerate(self._places):
            if position < count:
                value = args[position]
            else:
                if name in kwargs:
                    value = kwargs[name]
                    taken += 1
                elif default is not _REQUIRED:
                    value = default
                else:
                    raise RuntimeError(
                        f"{self.name}() is missing value for argument '{name}'. Declaration: {self}"
                    )
                values.append(value)
            if length and _is_integer(value):
                value = values[position] = [value] * length
            if not accepts(value):
                raise RuntimeError(
                    f"{self.name}() Expected a value of type '{_shown(argument.type)}' for argument "
                    f"'{name}' but instead found type '{type(value).__name__}'.\nPosition: {position}\n"
                    f"Value: {value!r}\nDeclaration: {self}"
                )
        if taken != len(kwargs):
            known = {argument.name for argument in self.arguments[count:]}
            other = next(name for name in kwargs if name not in known)
            raise RuntimeError(
                f"Unknown keyword argument '{other}' for operator '{self.name}'. Schema: {self}"
            )
        return values

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The same as a caller gives them: by position, and by name where there is no other way."""
        values = self.values(args, kwargs)
        named = {a.name: v for a, v in zip(self.arguments, values, strict=True) if a.keyword_only}
        return values[: self._positional], named


def _shown(kind: str) -> str:
    """A type as PyTorch's errors write it."""
    if kind.endswith("?"):
        return f"Optional[{_shown(kind[:-1])}]"
    if kind.endswith("[]"):
        return f"List[{_shown(kind[:-2])}]"
    return {"SymInt": "int", "Scalar": "number", "Device": "Device", "ScalarType": "int"}.get(kind, kind)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) or hasattr(value, "__index__")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) or (isinstance(value, Tensor) and value.numel() == 1)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, Tensor),
    "int": _is_integer,
    "SymInt": _is_integer,
    "float": lambda value: isinstance(value, (int, float)),
    "bool": lambda value: isinstance(value, (bool, int)),
    "str": lambda value: isinstance(value, str),
    "Scalar": _is_number,
    "ScalarType": lambda value: isinstance(value, _C.dtype),
    "Device": lambda value: isinstance(value, (_C.device, str)),
}


@functools.cache
def _check_of(kind: str) -> Callable[[Any], bool]:
    """Whether a value is of this type."""
    if kind.endswith("?"):
        inner = _check_of(kind[:-1])
        return lambda value: value is None or inner(value)
    if kind.endswith("[]"):
        of_item = _check_of(kind[:-2])
        return lambda value: isinstance(value, (list, tuple)) and all(map(of_item, value))
    return _CHECKS.get(kind, lambda value: True)


# ---- from text ---------------------------------------------------------------------------------------


def _split(text: str) -> list[str]:
    """The parts between commas that are inside no bracket and no string."""
    parts: list[str] = []
    depth, quoted, start = 0, False, 0
    for place, letter in enumerate(text):
        if letter in "\"'":
            quoted = not quoted
        elif not quoted:
            depth += (letter in "([") - (letter in ")]")
            if letter == "," and depth == 0:
                parts.append(text[start:place].strip())
                start = place + 1
    tail = text[start:].strip()
    return [*parts, tail] if tail else parts


def _nameless(result: str) -> str:
    """A result with a name that is no type."""
    return result if " " in result.replace(" -> ", "") else f"{result} result"


def _default(text: str, kind: str) -> Any:
    if text == "None":
        return None
    if text in ("True", "False"):
        return text == "True"
    if text.startswith("["):
        return [_default(item, kind) for item in _split(text[1:-1])]
    if text[0] in "\"'":
        return text[1:-1]
    if text == "contiguous_format":
        return _C.contiguous_format
    if kind.startswith("str"):
        return text
    if kind.startswith("ScalarType"):
        return getattr(_C, text, None) or _C_dtype_numbered(int(text))
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    return float(text)


def _C_dtype_numbered(number: int) -> Any:
    name = next(name for name, value in _DTYPE_NUMBERS.items() if value == number)
    return getattr(_C, name)


_ARGUMENT = re.compile(
    r"([A-Za-z_]\w*)(!|\([a-z]\w*(!?)(?:\s*->\s*[^)]*)?\))?((?:\[\d*\]|\?)*)\s+(\w+)\s*(?:=\s*(.*))?"
)


def _argument(text: str, name: str, keyword_only: bool) -> Argument:
    found = _ARGUMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"schema of {name}: cannot read the argument {text!r}")
    kind = found[1] + re.sub(r"\[\d+\]", "[]", found[4])
    length = re.search(r"\[(\d+)\]", found[4])
    default = _REQUIRED if found[6] is None else _default(found[6].strip(), kind)
    alias = re.sub(r"[^\w].*", "", (found[2] or "").removeprefix("("))
    return Argument(
        found[5],
        kind,
        default,
        keyword_only,
        "!" in (found[2], found[3]),
        alias,
        int(length[1]) if length else 0,
    )


def parse(name: str, text: str) -> Schema:
    """The schema written as ``(Tensor x, int k=1) -> Tensor``."""
    match = re.fullmatch(r"\s*\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
    if match is None:
        raise ValueError(f"schema of {name}: wanted '(Tensor x, int k=1) -> Tensor', got {text!r}")
    arguments: list[Argument] = []
    keyword_only = False
    for part in _split(match[1]):
        if part == "*":
            keyword_only = True
            continue
        arguments.append(_argument(part, name, keyword_only))
    return Schema(name, f"({match[1]}) -> {match[2]}", arguments)


# ---- from annotations --------------------------------------------------------------------------------

_NAMES: dict[Any, str] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", _C.dtype: "ScalarType",
    _C.device: "Device",
}  # fmt: skip


def _type_name(annotation: Any) -> str | None:
    """The schema's name of an annotation, None if there is none."""
    if annotation in _NAMES:
        return _NAMES[annotation]
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin in (typing.Union, UnionType):
        if set(inside) - {NoneType} == {int, float, bool}:
            return "Scalar?" if NoneType in inside else "Scalar"
        rest = [option for option in inside if option is not NoneType]
        name = _type_name(rest[0]) if len(rest) == 1 and len(inside) == 2 else None
        return f"{name}?" if name else None
    if origin in (list, collections.abc.Sequence) and len(inside) == 1:
        name = _type_name(inside[0])
        return f"{name}[]" if name else None
    return None


def _written(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return value.name if isinstance(value, _C.dtype) else str(value)


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Any = (),
) -> str:
    """The schema that a function's annotations give."""
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)

    def refuse(what: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    unknown = mutates_args == "unknown"
    mutated = set() if unknown else {mutates_args} if isinstance(mutates_args, str) else set(mutates_args)
    parts: list[str] = []
    starred = False
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            parts.append("*")
        if parameter.annotation is parameter.empty:
            refuse(f"Parameter {name} must have a type annotation.")
        kind = _type_name(hints[name])
        if kind is None:
            refuse(
                f"Parameter {name} has unsupported type {hints[name]}. The valid types are Tensor, int, float, bool, "
                "str, torch.dtype, torch.device, torch.types.Number, Optional of these, and sequences of them."
            )
        if name in mutated or (unknown and kind.startswith("Tensor")):
            if not kind.startswith("Tensor"):
                refuse(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
                )
            kind = kind.replace("Tensor", f"Tensor(a{position}!)", 1)
        text = f"{kind} {name}"
        if parameter.default is not parameter.empty:
            if not isinstance(parameter.default, (int, float, bool, str, NoneType, _C.dtype)):
                refuse(f"Parameter {name} has an unsupported default value type {type(parameter.default)}.")
            text += f"={_written(parameter.default)}"
        parts.append(text)
    if missing := mutated - signature.parameters.keys():
        refuse(f"{sorted(missing)} in mutates_args were not found in the op's parameters.")
    if signature.return_annotation is signature.empty:
        refuse("No return type annotation was provided. Please add one.")
    return f"{op_name or ''}({', '.join(parts)}) -> {_result(hints.get('return'), refuse)}"


def _result(annotation: Any, refuse: Callable[[str], NoReturn]) -> str:
    if annotation in (None, NoneType):
        return "()"
    if get_origin(annotation) is tuple:
        names = [_type_name(inside) for inside in get_args(annotation)]
        if None not in names:
            return f"({', '.join(map(str, names))})"
    name = _type_name(annotation)
    if name is None or name.endswith("?"):
        refuse(f"Return has unsupported type {annotation}.")
    return name
