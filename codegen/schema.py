"""Operator schemas in PyTorch's own spelling: `add.Tensor(Tensor self, *, Scalar alpha=1) -> Tensor`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SCHEMA = re.compile(r"^(?P<name>\w+)(\.(?P<overload>\w+))?\((?P<args>.*)\) -> (?P<returns>.+)$")
_ALIAS = re.compile(r"\((?:\w+)(!?)\)")


class SchemaError(ValueError):
    """A row of the operator table that cannot be read."""


@dataclass(frozen=True)
class Argument:
    name: str
    type: str  # "Tensor", "Tensor?", "Tensor[]", "Scalar", "int[]", "int[1]?", …
    default: str | None = None
    keyword_only: bool = False
    mutable: bool = False
    aliased: bool = False  # results may share its memory: Tensor(a)

    @property
    def is_tensor(self) -> bool:
        return self.type in ("Tensor", "Tensor?", "Tensor[]")

    @property
    def is_tensor_list(self) -> bool:
        return self.type in ("Tensor[]", "Tensor?[]")

    @property
    def list_length(self) -> int:
        """3 for `int[3]`, a list for which one int may stand; 0 for other types."""
        match = re.fullmatch(r"int\[(\d)\]\??", self.type)
        return int(match[1]) if match else 0

    @property
    def kind(self) -> str:
        """The type by which the generators look things up: lists of two, three… ints are one kind."""
        return re.sub(r"int\[[2-9]\]", "int[N]", self.type)

    @property
    def optional(self) -> bool:
        return self.type.endswith("?")


@dataclass(frozen=True)
class Schema:
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...] = field(default=())  # each a Tensor, one "Tensor[]", or none

    @property
    def full_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name


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
    text, _, default = text.partition("=")
    kind, _, name = text.strip().rpartition(" ")
    alias = _ALIAS.search(kind)
    return Argument(
        name=name,
        type=_ALIAS.sub("", kind),
        default=default.strip() or None,
        keyword_only=keyword_only,
        mutable=bool(alias and alias.group(1)),
        aliased=bool(alias),
    )


def _returns(text: str) -> tuple[Argument, ...]:
    text = _ALIAS.sub("", text).strip()
    if text == "()":
        return ()
    if text in ("Tensor", "Tensor[]"):
        return (Argument("out" if text == "Tensor" else "outs", text),)
    if not (text.startswith("(") and text.endswith(")")):
        raise SchemaError(f"return type {text!r}: wanted Tensor, Tensor[] or (Tensor a, Tensor b)")
    return tuple(_argument(part, False) for part in _split(text[1:-1]))


def parse_schema(text: str) -> Schema:
    match = _SCHEMA.match(text.strip())
    if not match:
        raise SchemaError(f"schema {text!r}: wanted name.overload(Type name, …) -> Type")
    arguments, keyword_only = [], False
    for part in _split(match["args"]):
        if part == "*":
            keyword_only = True
        else:
            arguments.append(_argument(part, keyword_only))
    return Schema(match["name"], match["overload"] or "", tuple(arguments), _returns(match["returns"]))
