"""Operator schemas in PyTorch's own spelling: `add.Tensor(Tensor self, *, Scalar alpha=1) -> Tensor`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from . import schema_types as types
from .schema_types import Type

_SCHEMA = re.compile(r"(?P<name>\w+)(\.(?P<overload>\w+))?\((?P<args>.*)\) -> (?P<returns>.+)")
_ALIAS = re.compile(r"\((\w+)(!?)\)")


class SchemaError(ValueError):
    """A schema that cannot be read."""


@dataclass(frozen=True)
class Argument:
    name: str
    type: Type
    default: str | None = None  # as the schema spells it
    keyword_only: bool = False
    alias: str = ""  # a of Tensor(a): results called so share its memory
    mutable: bool = False

    @property
    def cpp_default(self) -> str | None:
        return None if self.default is None else self.type.default(self.default)


def _shown(argument: Argument, with_name: bool = True) -> str:
    mark = f"({argument.alias}{'!' if argument.mutable else ''})" if argument.alias else ""
    kind = re.sub(r"^Tensor", f"Tensor{mark}", argument.type.name)
    default = "" if argument.default is None else f"={argument.default}"
    return f"{kind} {argument.name}{default}" if with_name else kind


@dataclass(frozen=True)
class Schema:
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...] = ()  # each a Tensor, one "Tensor[]", one "Any" (an object), or none

    @property
    def full_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def names(self) -> list[str]:
        return [a.name for a in self.arguments]

    @property
    def return_type(self) -> str:
        if not self.returns:
            return "void"
        if self.returns[0].type is types.TENSORS:
            return "std::vector<Tensor>"
        if self.returns[0].type is types.ANY:
            return "PyObject*"
        if len(self.returns) == 1:
            return "Tensor"
        return "std::tuple<" + ", ".join(["Tensor"] * len(self.returns)) + ">"

    def parameters(self, *extra: str, defaults: bool = False) -> str:
        """The C++ parameter list; C++ wants defaults only at the end, so earlier ones are left out."""
        parts: list[str] = []
        at_end = defaults
        for a in reversed(self.arguments):
            at_end = at_end and a.cpp_default is not None
            parts.insert(0, f"{a.type.cpp} {a.name}" + (f" = {a.cpp_default}" if at_end else ""))
        return ", ".join([*parts, *extra])

    def in_place(self) -> Schema:
        """The same with the first argument written and returned."""
        first, *rest = self.arguments
        written = replace(first, alias="a", mutable=True)
        return replace(
            self, arguments=(written, *rest), returns=(Argument("out", first.type, alias="a", mutable=True),)
        )

    def text(self, *extra: str) -> str:
        """Arguments and results as PyTorch writes them; `extra` are keyword-only arguments behind its own."""
        parts = []
        for a in self.arguments:
            if a.keyword_only and "*" not in parts:
                parts.append("*")
            parts.append(_shown(a))
        if extra:
            parts += [*([] if "*" in parts else ["*"]), *extra]
        results = ", ".join(_shown(r, with_name=False) for r in self.returns)
        return f"({', '.join(parts)}) -> {results if len(self.returns) == 1 else f'({results})'}"

    def argument(self, name: str) -> Argument | None:
        return next((a for a in self.arguments if a.name == name), None)


def _split(text: str) -> list[str]:
    """Split at commas that are not inside brackets."""
    parts, depth, start = [], 0, 0
    for i, ch in enumerate(text):
        depth += ch in "(["
        depth -= ch in ")]"
        if ch == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [p for p in parts if p]


def _argument(text: str, keyword_only: bool) -> Argument:
    declared, _, default = (part.strip() for part in text.partition("="))
    spelled, _, name = declared.rpartition(" ")
    if not name.isidentifier() or not spelled:
        raise SchemaError(f"argument {text!r}: wanted a type and a name, such as int dim=-1")
    alias = _ALIAS.search(spelled)
    type_ = types.named(_ALIAS.sub("", spelled))
    if type_ is None:
        raise SchemaError(f"argument {name!r}: unknown type {spelled!r}; known: {', '.join(types.names())}")
    argument = Argument(
        name, type_, default or None, keyword_only, alias[1] if alias else "", bool(alias and alias[2])
    )
    if default and argument.cpp_default is None:
        raise SchemaError(f"argument {name!r}: the default {default!r} is no {type_}")
    return argument


def _returns(text: str) -> tuple[Argument, ...]:
    if text == "()":
        return ()
    alias = _ALIAS.match(text.removeprefix("Tensor"))
    plain = _ALIAS.sub("", text)
    alone = {"Tensor": ("out", types.TENSOR), "Tensor[]": ("outs", types.TENSORS), "Any": ("out", types.ANY)}
    if plain in alone:
        return (Argument(*alone[plain], alias=alias[1] if alias else ""),)
    parts = _split(text[1:-1]) if text.startswith("(") and text.endswith(")") else []
    if not parts:
        raise SchemaError(f"result {text!r}: wanted Tensor, Tensor[], (Tensor a, Tensor b), Any or ()")
    returns = tuple(_argument(part, False) for part in parts)
    for result in returns:
        if result.type is not types.TENSOR:
            raise SchemaError(f"result {result.name!r} is a {result.type}, wanted a Tensor")
    return returns


def parse_schema(text: str) -> Schema:
    match = _SCHEMA.fullmatch(text.strip())
    if not match:
        raise SchemaError(f"schema {text!r}: wanted name.overload(Type name, …) -> Type")
    arguments, keyword_only = [], False
    for part in _split(match["args"]):
        if part == "*":
            keyword_only = True
        else:
            arguments.append(_argument(part, keyword_only))
    returns = _returns(match["returns"])
    for group in (arguments, returns):
        names = [a.name for a in group]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(f"the name {name!r} stands for two arguments or results")
    return Schema(match["name"], match["overload"] or "", tuple(arguments), returns)
