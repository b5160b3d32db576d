"""Arguments by the parameters of what is called.

Functions written in Python say their parameters themselves, operators by their schemas (``_operator_signatures.py``).
"""

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, get_args, get_origin

import mindtorch_v2 as torch

from ._compatibility import compatibility
from ._operator_signatures import schemas_of
from ._operator_signatures import signature_of as schema_signature
from ._python_signatures import signature_of
from ._qualified_names import qualified_name

__all__ = [
    "ArgsKwargsPair", "check_for_mutable_operation", "create_type_hint", "get_signature_for_torch_op",
    "normalize_function", "normalize_module", "type_matches",
]  # fmt: skip


@compatibility(is_backward_compatible=False)
class ArgsKwargsPair(NamedTuple):
    """The two parts of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@compatibility(is_backward_compatible=False)
def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of an operator, one per overload; None for what is no operator. With ``return_schemas``, also the
    schemas."""
    schemas = schemas_of(op)
    signatures = None if schemas is None else [schema_signature(schema) for schema in schemas]
    return (signatures, schemas) if return_schemas else signatures


@compatibility(is_backward_compatible=False)
def check_for_mutable_operation(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raises RuntimeError if the schema that fits a call says that an argument is changed."""
    schemas = schemas_of(target)
    if not schemas:
        return
    fitting = [schema for schema in schemas if _binds(schema_signature(schema), args, kwargs)]
    if len(fitting) == 1 and fitting[0].is_mutable:
        raise RuntimeError(
            f"Tried to trace mutable operation {fitting[0]}. FX only supports functional code, so operations that "
            "mutate operands in-place (e.g. via `out` arguments) are not supported"
        )


def _binds(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


@compatibility(is_backward_compatible=False)
def create_type_hint(x: Any) -> Any:
    """The type of a list or tuple of types: that of its items if they agree or one is the others' base, or Any."""
    if not isinstance(x, (list, tuple)):
        return x
    if not all(isinstance(item, type) or get_origin(item) is not None for item in x):
        warnings.warn(f"We were not able to successfully create type hint from the type {x}", stacklevel=2)
        return x

    def made(kind: Any) -> Any:
        return list[kind] if isinstance(x, list) else tuple[kind, ...]

    if not x:
        return made(Any)
    base = x[0]
    for item in x[1:]:
        if isinstance(item, type) and isinstance(base, type) and issubclass(base, item):
            base = item
        elif not (isinstance(item, type) and isinstance(base, type) and issubclass(item, base)):
            return made(Any)
    return made(base)


@compatibility(is_backward_compatible=False)
def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of one type may be given for a parameter of another."""
    if signature_type is argument_type or signature_type is Any:
        return True
    if get_origin(signature_type) is types.UnionType or str(get_origin(signature_type)) == "typing.Union":
        return any(type_matches(part, argument_type) for part in get_args(signature_type))
    if get_origin(signature_type) is list:
        (item,) = get_args(signature_type)
        if argument_type in (item, list):  # one number stands for a list of them
            return True
        inside = get_args(argument_type)
        return get_origin(argument_type) in (list, tuple) and all(
            type_matches(item, part) for part in inside if part is not ...
        )
    if signature_type is float and argument_type is int:
        return True
    return (
        isinstance(argument_type, type)
        and isinstance(signature_type, type)
        and issubclass(argument_type, signature_type)
    )


def _normalized(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], only_kwargs: bool
) -> ArgsKwargsPair | None:
    """None if the parameters have stars, which take what has no name."""
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(parameter.kind not in plain for parameter in signature.parameters.values()):
        # A parameter called "from" can be a position only; the operator knows it.
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    given: list[Any] = []
    named: dict[str, Any] = {}
    for index, name in enumerate(signature.parameters):
        if not only_kwargs and index < len(args):
            given.append(bound.arguments[name])
        else:
            named[name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(given), named)


@compatibility(is_backward_compatible=False)
def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """A call with all arguments, also those left out: by name, or in order as far as the call has them so.

    None where the parameters are not known. A call that fits several overloads wants ``arg_types``.
    """
    kwargs = kwargs or {}
    signatures = get_signature_for_torch_op(target)
    if signatures is not None:
        chosen = _chosen(target, signatures, args, kwargs, arg_types, kwarg_types)
        return None if chosen is None else _normalized(chosen, args, kwargs, normalize_to_only_use_kwargs)
    signature = signature_of(target)
    if signature is None:
        return None
    return _normalized(signature, args, kwargs, normalize_to_only_use_kwargs)


def _chosen(
    target: Any,
    signatures: list[inspect.Signature],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    arg_types: tuple[Any, ...] | None,
    kwarg_types: dict[str, Any] | None,
) -> inspect.Signature | None:
    """The overload that a call means: the only one that its arguments fit, or whose types they have."""
    fitting = [signature for signature in signatures if _binds(signature, args, kwargs)]
    if len(fitting) <= 1:
        return fitting[0] if fitting else None
    if arg_types is not None or kwarg_types is not None:
        for signature in fitting:
            if not _binds(signature, arg_types or (), kwarg_types or {}):
                continue
            given = signature.bind(*(arg_types or ()), **(kwarg_types or {})).arguments
            parameters = signature.parameters
            if all(type_matches(parameters[name].annotation, kind) for name, kind in given.items()):
                return signature
        return None
    shown = "\n".join(map(str, fitting))
    raise RuntimeError(
        f"Tried to normalize arguments to {qualified_name(target)} but the schema match was ambiguous! Please "
        f"provide argument types to the normalize_arguments() call. Available schemas:\n{shown}"
    )


@compatibility(is_backward_compatible=False)
def normalize_module(
    root: torch.nn.Module,
    target: str,
    args: tuple[Any],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """``normalize_function`` for a call of a module of torch.nn; None for others."""
    try:
        module = root.get_submodule(target)
    except AttributeError as absent:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from absent
    if getattr(torch.nn, type(module).__name__, None) is not type(module):
        return None
    signature = inspect.signature(inspect.unwrap(module.forward))
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
