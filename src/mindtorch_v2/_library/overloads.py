"""Operators as objects: a packet for a name, and an overload for each schema that the name has."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

from .. import _C
from .._library.schema import Argument, Schema, parse


@functools.cache
def _table() -> dict[str, dict[str, str]]:
    """The operators of the table: the schemas of each name by overload."""
    found: dict[str, dict[str, str]] = {}
    for name, overload, text in _C._dispatch.operators():
        found.setdefault(name, {}).setdefault(overload, text)
    return found


def overloads_of(name: str) -> dict[str, str]:
    """By overload, the schemas of an operator such as ``aten::add``; nothing if the table does not have it in C++."""
    return _table().get(name, {})


# PyTorch takes their numbers for tensors: `x + 1` is add.Tensor(x, 1).
_NUMBERS_ARE_TENSORS = frozenset({"add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_"})


class OpOverload:
    """One operator with one schema, called with exactly its arguments."""

    def __init__(self, packet: OpOverloadPacket, overload: str, text: str) -> None:
        self._packet = packet
        self._native_overload = overload
        self._overloadname = overload or "default"
        self._qualified_op_name = packet._qualified_op_name
        self._qualified = packet._qualified_op_name + (f".{overload}" if overload else "")
        self._schema: Schema = parse(self._qualified, text)
        self.__name__ = f"{packet.__name__}.{self._overloadname}"
        self.__qualname__ = f"{packet.__name__}.{self._overloadname}"
        self.__module__ = packet.__module__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if _C._somebody_asks((*args, *kwargs.values())):
            return _C._ask_for(self, f"torch.ops.{self}", (*args, *kwargs.values()), args, kwargs)
        if self._packet.__name__ in _NUMBERS_ARE_TENSORS and self._overloadname == "Tensor":
            number = args[1] if len(args) > 1 else kwargs.get("other")
            if not isinstance(number, _C.Tensor):
                return self._packet.Scalar(*args, **kwargs)
        values, keywords = self._schema.bind(args, kwargs)
        given = iter(values)
        ordered = [keywords[a.name] if a.keyword_only else next(given) for a in self._schema.arguments]
        arguments = [_native(a, value) for a, value in zip(self._schema.arguments, ordered, strict=True)]
        return _C._dispatch.call(self._packet._qualified_op_name, self._native_overload, arguments)

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        return self._packet

    @property
    def op(self) -> OpOverloadPacket:
        return self._packet

    @property
    def namespace(self) -> str:
        return self._packet._qualified_op_name.partition("::")[0]

    @property
    def is_view(self) -> bool:
        """Whether a result shares the memory of an argument that is not written."""
        shared = [a for a in self._schema.arguments if a.alias]
        return bool(shared) and not any(a.mutated for a in shared)

    @property
    def tags(self) -> list[Any]:
        return []

    def name(self) -> str:
        return self._qualified

    def split(self, values: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All its values as a caller would give them: without those at the end that are defaults."""
        arguments = self._schema.arguments
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
        return f"{self._packet._qualified_op_name.replace('::', '.')}.{self._overloadname}"

    def __repr__(self) -> str:
        operator = self._packet._qualified_op_name.replace("::", ".")
        return f"<OpOverload(op='{operator}', overload='{self._overloadname}')>"

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return _found, (self._packet._qualified_op_name, self._overloadname)


class OpOverloadPacket:
    """An operator's name. Called, the arguments decide which overload is meant."""

    def __init__(self, qualified: str, function: Callable[..., Any] | None) -> None:
        self._qualified_op_name = qualified
        self.__name__ = qualified.partition("::")[2]
        self.__module__ = f"torch.ops.{qualified.partition('::')[0]}"
        self._function = function
        self._schemas = overloads_of(qualified)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if _C._somebody_asks((*args, *kwargs.values())):
            return _C._ask_for(self, f"torch.ops.{self}", (*args, *kwargs.values()), args, kwargs)
        if self._function is not None:
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
        self.__name__ = name.replace("::", ".")

    @property
    def default(self) -> Self:
        return self

    def overloads(self) -> list[str]:
        return ["default"]

    def name(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self.__name__}')>"


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
    found: OpOverload = _found(name, overload or "default")
    return found


def _is_default(argument: Argument, value: Any) -> bool:
    default = argument.default_value
    if not argument.has_default_value() or isinstance(value, _C.Tensor):
        return False
    return bool(type(value) is type(default) and value == default) or (value is None and default is None)


def _native(argument: Argument, value: Any) -> Any:
    """A value as native code wants it for this argument."""
    kind = argument.type.removesuffix("?")
    if value is None:
        return None
    if kind == "float" and isinstance(value, int):
        return float(value)
    if kind == "float[]":
        return [float(item) for item in value]
    if kind in ("int[]", "SymInt[]") and isinstance(value, int):
        return [value] * argument.length
    if kind == "bool":
        return bool(value)
    if kind == "Scalar" and isinstance(value, _C.Tensor):
        return value.item()
    if kind == "Device" and not isinstance(value, _C.device):
        return _C.device(value)
    if kind == "Layout":
        return None
    return value
