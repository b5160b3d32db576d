"""Every ACLNN operator by name: ``aclnn.add(a, b, 1, out)``, ``aclnn.call("aclnnGelu", x, out)``.

The names, parameters and types come from the ABI description, so an operator needs no code here. Arguments are in
the order of the C function: tensors (None for an optional one), numbers, lists, dtypes, texts. The operators
that tensors use every day have PyTorch's names; this is for what has none, and for trials.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ... import _C

_npu = _C._npu


class Parameter(NamedTuple):
    name: str
    type: str  # without const: "aclTensor*", "int64_t"


@cache
def _names() -> dict[str, str]:
    """Names without their prefix, case and underscores, as attributes of this module are looked up."""
    return {name.removeprefix("aclnn").lower(): name for name in reversed(operators())}


@cache
def signature(name: str) -> tuple[Parameter, ...]:
    """The parameters of an operator, without the workspace and executor that every operator has."""
    parameters = _npu.operator_parameters(name)
    if parameters is None:
        import difflib

        close = difflib.get_close_matches(name, operators(), n=3)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise AttributeError(f"ACLNN has no operator '{name}'.{hint}")
    return tuple(Parameter(*parameter) for parameter in parameters)


def operators() -> list[str]:
    """The names of all two-phase operators of the description."""
    return _npu.operator_names()


def call(name: str, *args: Any, runtime: Any = None) -> None:
    """Enqueues an operator on the current stream of its device; with ACL_LAUNCH_BLOCKING=1 it also waits.

    The device is that of the first tensor. A `runtime` says which it is, and is the one that waits.
    """
    signature(name)
    _launch(name, args, runtime)
    if runtime is not None and _npu.launch_blocking():
        runtime.synchronize()


def call_for_shapes(name: str, *args: Any) -> list[tuple[int, ...]]:
    """Runs an operator whose results' sizes depend on data, waits, and returns the shape of every tensor argument.

    Such an operator (``aclnnNonzero``, ``aclnnMaskedSelect``) gets results of the largest size that is possible and
    says in their descriptors how much of them it filled.
    """
    signature(name)
    return _npu.call_operator_for_shapes(name, args)


def _launch(name: str, args: tuple[Any, ...], runtime: Any) -> None:
    _npu.call_operator(name, args, None if runtime is None else runtime.device_id)


_npu.name_callers_of(_launch)


def __getattr__(attribute: str) -> Callable[..., None]:
    name = _names().get(attribute.replace("_", "").lower()) if not attribute.startswith("__") else None
    if name is None:
        raise AttributeError(
            f"module '{__name__}' has no attribute '{attribute}', nor ACLNN such an operator"
        )

    def operator(*args: Any, runtime: Any = None) -> None:
        call(name, *args, runtime=runtime)

    operator.__name__ = attribute
    operator.__qualname__ = attribute
    operator.__doc__ = f"{name}({', '.join(f'{p.type} {p.name}' for p in signature(name))})"
    return operator
