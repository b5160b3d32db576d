"""The schemas of operators as signatures of Python."""

from __future__ import annotations

import inspect
import numbers
import typing
from collections.abc import Callable
from functools import cache
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._library import overloads
from mindtorch_v2._library.schema import Argument, Schema

_TYPES: dict[str, Any] = {
    "Tensor": torch.Tensor, "int": int, "SymInt": int, "float": float, "bool": bool, "str": str,
    "Scalar": numbers.Number, "ScalarType": int, "Layout": int, "MemoryFormat": int, "Device": torch.device,
    "Generator": torch.Generator,
}  # fmt: skip


def _type(kind: str) -> Any:
    if kind.endswith("?"):
        return typing.Optional[_type(kind[:-1])]  # noqa: UP045 - PyTorch's, and so it is printed
    if kind.endswith("[]"):
        return typing.List[_type(kind[:-2])]  # type: ignore[misc] # noqa: UP006 - likewise
    return _TYPES.get(kind, Any)


def _default(argument: Argument) -> Any:
    if not argument.has_default_value():
        return inspect.Parameter.empty
    value = argument.default_value
    if argument.length and isinstance(value, int):
        return [value] * argument.length
    return value


def signature_of(schema: Schema) -> inspect.Signature:
    """A schema as a signature: ``self`` is called ``input``."""
    kinds = inspect.Parameter
    positional_only = any(a.name in ("from",) for a in schema.arguments)
    parameters = []
    for a in schema.arguments:
        kind: Any = kinds.KEYWORD_ONLY if a.keyword_only else kinds.POSITIONAL_OR_KEYWORD
        if positional_only and not a.keyword_only:
            kind = kinds.POSITIONAL_ONLY
        name = {"self": "input", "from": "from_"}.get(a.name, a.name)
        parameters.append(inspect.Parameter(name, kind, default=_default(a), annotation=_type(a.type)))
    results = [_type(r.type) for r in schema.returns]
    returned: Any = results[0] if len(results) == 1 else tuple(results) if results else None
    return inspect.Signature(parameters, return_annotation=returned)


@cache
def _names() -> dict[Any, str]:
    """The operators of the table by the functions that Python calls for them."""
    found: dict[Any, str] = {}
    for name in overloads.all_names():
        function = overloads.packet(name)._function if overloads.packet(name) is not None else None  # type: ignore[union-attr]
        if function is not None and isinstance(function, type(torch.relu)):
            found.setdefault(function, name)
    found[torch.split] = "aten::split"
    return found


def schemas_of(op: Callable[..., Any]) -> list[Schema] | None:
    """Those of an operator, of its packet or of the function that calls it; None for anything else."""
    if isinstance(op, overloads.OpOverload):
        return [op._schema]
    try:
        packet = op if isinstance(op, overloads.OpOverloadPacket) else overloads.packet(_names()[op])
    except (KeyError, TypeError):
        return None
    assert packet is not None
    found = [getattr(packet, name) for name in packet.overloads()]
    return [each._schema for each in found if isinstance(each, overloads.OpOverload)] or None
