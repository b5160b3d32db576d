"""Operators as objects: a packet for a name, and an overload for each schema that the name has."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from .. import _C
from .._types.tag import Tag
from .handler_operators import OPERATORS
from .schema import Argument, Schema, parse


class Source(NamedTuple):
    """Where an overload comes from."""

    text: str  # the schema without the name
    name: str = ""  # of native code
    overload: str = ""
    function: Callable[..., Any] | None = None  # what runs instead, given all values in the schema's order
    in_python: bool = False  # an operator of the table that is composed in Python


@functools.cache
def _table() -> dict[str, dict[str, Source]]:
    """Every operator: its overloads by name."""
    found: dict[str, dict[str, Source]] = {}
    renamed = {
        (name, overload): text.split(".")
        for name, overload, text in _C._dispatch.seen_as()
        if "(" not in text
    }
    for name, overload, text in _C._dispatch.operators():
        source = Source(text, name, overload)
        if public := renamed.get((name, overload)):
            name, overload = f"aten::{public[1]}", "" if public[2] == "default" else public[2]
        found.setdefault(name, {}).setdefault(overload, source)
    for name, overload, text in _C._dispatch.operators_in_python():
        found.setdefault(name, {}).setdefault(overload, Source(text, name, overload, in_python=True))
    for (name, overload), (text, function) in OPERATORS.items():
        found.setdefault(name, {})[overload] = Source(text, name, overload, function)
    return found


@functools.cache
def _tags() -> dict[tuple[str, str], tuple[Tag, ...]]:
    """Of the rows that have some."""
    return {
        (name, overload): tuple(Tag[word] for word in words.split())
        for name, overload, words in _C._dispatch.tags()
    }


def _tags_of(source: Source) -> tuple[Tag, ...]:
    """Of its row; what has none (handler_operators.py) is another overload of one that has, or is not known."""
    rows = _tags()
    own = rows.get((source.name, source.overload))
    if own is None and source.function is not None:
        own = next((tags for (name, _), tags in rows.items() if name == source.name), None)
    return own or ()


@functools.cache
def _native() -> dict[tuple[str, str], str]:
    return {(name, overload): text for name, overload, text in _C._dispatch.operators()}


def overloads_of(name: str) -> dict[str, Source]:
    """The overloads of an operator such as ``aten::add``; nothing if the table does not have it."""
    return _table().get(name, {})


def all_names() -> list[str]:
    """The names of all operators."""
    return list(_table())


# PyTorch takes their numbers for tensors: `x + 1` is add.Tensor(x, 1).
_NUMBERS_ARE_TENSORS = frozenset({"add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_"})


class Takers(NamedTuple):
    """Who takes operators over: whether somebody does, for these values, and what is made of a call."""

    wanted: Callable[[list[Any]], bool]
    ask: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


takers: list[Takers] = []  # interception.py, once it is loaded: nobody can be asked before


def _without_history(values: list[Any]) -> bool:
    """Whether no operator on these values is recorded for backward: then it can be handed over in one piece."""
    return not _C.is_grad_enabled() or not any(isinstance(v, _C.Tensor) and v.requires_grad for v in values)


class OpOverload:
    """One operator with one schema, called with exactly its arguments."""

    def __init__(self, packet: OpOverloadPacket, overload: str, source: Source) -> None:
        self._overloadpacket = packet
        self._source = source
        self._overloadname = overload or "default"
        self._qualified_op_name = packet._qualified_op_name
        self._name = packet._qualified_op_name + (f".{overload}" if overload else "")
        self._schema: Schema = parse(self._name, source.text)
        self._kinds = "".join(map(_kind, self._schema.arguments))
        self._conversions = [
            (place, convert) for place, a in enumerate(self._schema.arguments) if (convert := _conversion(a))
        ]
        self._numbers_too = packet.__name__ in _NUMBERS_ARE_TENSORS and overload == "Tensor"
        self.__name__ = f"{packet.__name__}.{self._overloadname}"
        self.__qualname__ = f"{packet.__name__}.{self._overloadname}"
        self.__module__ = packet.__module__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if _C._somebody_asks((*args, *kwargs.values())):
            return _C._ask_for(self, f"torch.ops.{self}", (*args, *kwargs.values()), args, kwargs)
        if self._numbers_too:
            number = args[1] if len(args) > 1 else kwargs.get("other")
            if not isinstance(number, _C.Tensor):
                return self._overloadpacket.Scalar(*args, **kwargs)
        source = self._source
        if source.in_python:
            assert self._overloadpacket._function is not None
            # With the defaults of the schema: those of the parser are not always the same.
            positional, keywords = self._schema.bind(args, kwargs)
            return self._overloadpacket._function(*positional, **keywords)
        values = self._schema.values(args, kwargs)
        if source.function is not None:
            for who in takers:
                if _without_history(values) and who.wanted(values):
                    return who.ask(self, *self.split(values))
            return source.function(*values)
        for place, convert in self._conversions:
            if values[place] is not None:
                values[place] = convert(values[place])
        return _C._dispatch.call(source.name, source.overload, values, self._kinds)

    def shortened(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call as ``split`` gives them."""
        return self.split(self._schema.values(args, kwargs))

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        return self._overloadpacket

    @property
    def op(self) -> OpOverloadPacket:
        return self._overloadpacket

    @property
    def namespace(self) -> str:
        return self._overloadpacket._qualified_op_name.partition("::")[0]

    @property
    def _opname(self) -> str:
        return self._overloadpacket.__name__

    @property
    def is_view(self) -> bool:
        """Whether a result shares the memory of an argument that is not written."""
        shared = [a for a in self._schema.arguments if a.alias]
        return bool(shared) and not any(a.mutated for a in shared)

    @functools.cached_property
    def tags(self) -> list[Tag]:
        """What kind of operator it is: by its row, and by what its schema writes."""
        found = list(_tags_of(self._source))
        written = [each for each in self._schema.arguments if each.mutated]
        if written and self.__name__.partition(".")[0].endswith("_"):
            found.append(Tag.inplace)
        elif (written and all(each.keyword_only for each in written)) or self._overloadname.endswith("out"):
            found.append(Tag.out)
        if self.namespace == "aten":
            found.append(Tag.pt2_compliant_tag)
        return sorted(found, key=lambda tag: tag.value)

    def name(self) -> str:
        return self._name

    def split(self, values: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All its values as a caller would give them: without those at the end that are defaults."""
        arguments = self._schema.arguments
        values = [_given(a, value) for a, value in zip(arguments, values, strict=True)]
        positional = [value for a, value in zip(arguments, values, strict=True) if not a.keyword_only]
        declared = [a for a in arguments if not a.keyword_only]
        while positional and _is_default(declared[len(positional) - 1], positional[-1]):
            positional.pop()
        keywords = {
            a.name: value
            for a, value in zip(arguments, values, strict=True)
            if a.keyword_only and not _is_default(a, value)
        }
        return tuple(positional), keywords

    def __str__(self) -> str:
        return f"{self._overloadpacket._qualified_op_name.replace('::', '.')}.{self._overloadname}"

    def __repr__(self) -> str:
        operator = self._overloadpacket._qualified_op_name.replace("::", ".")
        return f"<OpOverload(op='{operator}', overload='{self._overloadname}')>"

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return _found, (self._overloadpacket._qualified_op_name, self._overloadname)


class OpOverloadPacket:
    """An operator's name. Called, the arguments decide which overload is meant."""

    def __init__(self, qualified: str, function: Callable[..., Any] | None) -> None:
        self._qualified_op_name = qualified
        self.__name__ = qualified.partition("::")[2]
        self.__module__ = f"torch.ops.{qualified.partition('::')[0]}"
        self._function = function
        self._schemas = overloads_of(qualified)
        # The schema's default is the mean, which the function's is not (codegen/bindings.py says why).
        self._by_schema = any("reduction=1" in source.text for source in self._schemas.values())

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if _C._somebody_asks((*args, *kwargs.values())):
            return _C._ask_for(self, f"torch.ops.{self}", (*args, *kwargs.values()), args, kwargs)
        if self._function is not None and not self._by_schema:
            return self._function(*args, **kwargs)
        problem: Exception | None = None
        for name in self.overloads():
            try:
                return getattr(self, name)(*args, **kwargs)
            except RuntimeError as error:
                problem = problem or error
        raise problem or TypeError(f"{self._qualified_op_name} has no overload")

    def overloads(self) -> list[str]:
        return [name or "default" for name in self._schemas] or ["default"]

    def __iter__(self) -> Any:
        return iter(self.overloads())

    def __getattr__(self, overload: str) -> Any:
        if overload.startswith("__"):
            raise AttributeError(overload)
        known = "" if overload == "default" else overload
        if known in self._schemas:
            found: Any = OpOverload(self, known, self._schemas[known])
        elif len(self._schemas) == 1:  # which PyTorch calls otherwise
            found = getattr(self, self.overloads()[0])
        elif self._function is not None:
            found = self  # its function takes every form
        else:
            raise AttributeError(
                f"The underlying op of '{self}' has no overload name '{overload}'; it has {self.overloads()}"
            )
        setattr(self, overload, found)
        return found

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __deepcopy__(self, memo: Any = None) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> Any:
        return _found, (self._qualified_op_name, None)


class OneOverload:
    """An operator that is its own and only overload, ``default``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tags: list[Tag] = []
        namespace, _, short = name.partition("::")
        self.__name__ = self.__qualname__ = f"{short}.default"
        self.__module__ = f"torch.ops.{namespace}"

    @property
    def default(self) -> Self:
        return self

    @property
    def overloadpacket(self) -> Self:
        return self

    _overloadpacket = overloadpacket

    @property
    def namespace(self) -> str:
        return self._name.partition("::")[0]

    @property
    def is_view(self) -> bool:
        return False

    @property
    def tags(self) -> list[Tag]:
        """What whoever made it said that it is."""
        return self._tags

    def overloads(self) -> list[str]:
        return ["default"]

    def name(self) -> str:
        return self._name

    def __str__(self) -> str:
        return f"{self._name.replace('::', '.')}.default"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._name.replace('::', '.')}')>"


def _find_function(name: str) -> Callable[..., Any] | None:
    """What Python calls for an operator of the table. Those of a module carry its name as a prefix."""
    for module in ("functions", "nn", "linalg", "fft", "special", "aten"):
        functions = getattr(_C, f"_{module}", None)
        prefix = f"{module}_"
        found: Any = getattr(functions, name, None)
        if found is None and name.startswith(prefix):
            found = getattr(functions, name.removeprefix(prefix), None)
        if found is not None:
            return found  # type: ignore[no-any-return]
    method: Any = getattr(
        _C.Tensor, name, None
    )  # schemas whose first argument is self have a method, at least
    return method if callable(method) and not name.startswith("__") else None


@functools.cache
def packet(qualified: str) -> OpOverloadPacket | None:
    """The operator of the table that is called so; None if there is none."""
    function = _find_function(qualified.partition("::")[2])
    if function is None and not overloads_of(qualified):
        return None
    return OpOverloadPacket(qualified, function)


def _found(qualified: str, overload: str | None) -> Any:
    """The operator of that name, for files."""
    found = packet(qualified)
    return found if overload is None else getattr(found, overload)


@functools.cache
def overload(name: str, overload: str) -> OpOverload:
    """The overload that native code calls so, by PyTorch's name."""
    if overload == "Scalar" and name.partition("::")[2] in _NUMBERS_ARE_TENSORS:
        overload = "Tensor"
    return by_name(name, overload)


@functools.cache
def native(name: str, overload: str) -> OpOverload:
    """A row by the name that native code has for it, whatever handlers see."""
    return OpOverload(
        OpOverloadPacket(name, None), overload, Source(_native()[name, overload], name, overload)
    )


def by_name(name: str, overload: str) -> OpOverload:
    """The overload of that name."""
    found = _found(name, overload or "default")
    if not isinstance(found, OpOverload):
        raise LookupError(f"there is no operator {name}.{overload or 'default'} for handlers to see")
    return found


# What a list holds that comes to native code; it cannot be told from an empty one.
_LISTS = {"Tensor": "T", "float": "f", "int": "i", "SymInt": "i", "Scalar": "s", "bool": "i"}


def _kind(argument: Argument) -> str:
    kind = argument.type.removesuffix("?")
    return _LISTS.get(kind.removesuffix("[]").removesuffix("?"), " ") if kind.endswith("[]") else " "


def _is_default(argument: Argument, value: Any) -> bool:
    default = argument.default_value
    if not argument.has_default_value() or isinstance(value, _C.Tensor):
        return False
    return bool(type(value) is type(default) and value == default) or (value is None and default is None)


def _given(argument: Argument, value: Any) -> Any:
    """A value of native code's as schemas have it: a list of dimensions that is not there is the default."""
    if value is None and argument.type in ("int[]", "SymInt[]") and argument.has_default_value():
        return argument.default_value
    return value


def _conversion(argument: Argument) -> Callable[[Any], Any] | None:
    """What makes a value of this argument, which is not None, one that native code wants; None if nothing has to."""
    kind = argument.type.removesuffix("?")
    if kind == "float":
        return float
    if kind == "bool":
        return bool
    if kind == "float[]":
        return lambda value: [float(item) for item in value]
    if kind in ("int[]", "SymInt[]") and argument.length == 1 and argument.default_value == []:
        return lambda value: None if value == [] else value
    if kind == "Scalar":
        return lambda value: value.item() if isinstance(value, _C.Tensor) else value
    if kind == "Device":
        return lambda value: value if isinstance(value, _C.device) else _C.device(value)
    if kind == "Layout":
        return lambda value: None
    return None
