"""``torch.jit``: TorchScript's marks are passed through, and programs run as the Python they are."""

from __future__ import annotations

import builtins
import typing
import weakref
from collections.abc import Callable
from types import UnionType
from typing import Any, NoReturn, TypeVar, get_args, get_origin

from .._absent import names_of
from ..nn import Module

__all__ = [
    "Attribute",
    "Error",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "isinstance",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_T = TypeVar("_T")
_is: Any = builtins.isinstance  # torch.jit has one of its own

Final = typing.Final


_compiled: weakref.WeakSet[Any] = weakref.WeakSet()  # modules that were scripted or traced


def _as_compiled(obj: _T) -> _T:
    if _is(obj, Module):
        _compiled.add(obj)
    return obj


class _ScriptModuleType(type):
    def __instancecheck__(cls, obj: Any) -> bool:
        return super().__instancecheck__(obj) or (
            cls is ScriptModule and _is(obj, Module) and obj in _compiled
        )


class ScriptModule(Module, metaclass=_ScriptModuleType):
    """A compiled module in PyTorch. Here those that were scripted or traced are instances, and keep their class."""


class RecursiveScriptModule(ScriptModule):
    """What scripting makes of a module in PyTorch; none is made here."""


class ScriptFunction:
    """A compiled function in PyTorch; scripted functions are ordinary ones here."""

    def __init__(self, *args: Any) -> None:
        raise NotImplementedError(
            "torch.jit.ScriptFunction: there is no TorchScript; use the function itself"
        )


class TracerWarning(Warning):
    """A warning of TorchScript's tracer."""


class Error(RuntimeError):
    """An error of TorchScript."""


def script(
    obj: _T, optimize: None = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None
) -> _T:
    """The function, class or module itself: it runs as Python."""
    return _as_compiled(obj)


def script_if_tracing(fn: _T) -> _T:
    """The function itself."""
    return fn


_script_if_tracing = script_if_tracing


def script_method(fn: _T) -> _T:
    """Marks a method of a ScriptModule to compile; returns it."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Marks a method as left to Python, which all are; also used as a plain decorator."""
    return drop if callable(drop) else lambda function: function


def unused(fn: _T) -> _T:
    """Marks a method that TorchScript must not see; returns it."""
    return fn


def _overload(func: _T) -> _T:
    """Marks one of the signatures that TorchScript chooses from; the last definition of a name is what runs."""
    return func


_overload_method = _copy_to_script_wrapper = _drop = _overload


def export(fn: _T) -> _T:
    """Marks a method to compile; returns it."""
    return fn


def interface(obj: _T) -> _T:
    """Marks a class as an interface; returns it."""
    return obj


def is_scripting() -> bool:
    """Whether this code runs in TorchScript: never."""
    return False


def is_tracing() -> bool:
    """Whether this code is being traced: never."""
    return False


def annotate(the_type: Any, the_value: _T) -> _T:
    """The value; its type is for TorchScript."""
    return the_value


class Attribute(typing.NamedTuple):
    """A value with its type for TorchScript."""

    value: Any
    type: Any


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type such as ``list[int]``, looking into containers."""
    kinds = target_type if _is(target_type, tuple) else (target_type,)
    return any(_matches(obj, kind) for kind in kinds)


def _matches(obj: Any, kind: Any) -> bool:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is typing.Union or origin is UnionType:
        return any(_matches(obj, option) for option in arguments)
    if kind is Any:
        return True
    if origin is None:
        return bool(_is(obj, type(None) if kind is None else kind))
    if not _is(obj, origin):
        return False
    if origin is dict:
        return all(_matches(k, arguments[0]) and _matches(v, arguments[1]) for k, v in obj.items())
    if origin is tuple:
        return len(obj) == len(arguments) and all(map(_matches, obj, arguments))
    return all(_matches(item, arguments[0]) for item in obj)


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Runs the function at once and gives its result as a Future."""
    from ..futures import Future

    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Any) -> Any:
    """The result of a Future."""
    return future.wait()


_fork, _wait = fork, wait  # as programs of old have them


def freeze(mod: _T, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> _T:
    """The module itself: there is nothing to fold into it."""
    return mod


def optimize_for_inference(mod: _T, other_methods: list[str] | None = None) -> _T:
    """The module itself."""
    return mod


def trace(
    func: _T,
    example_inputs: Any = None,
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: Any = None,
    _store_inputs: bool = True,
) -> _T:
    """Runs the function or module with the example, and gives it back: later calls run it as Python."""
    if example_inputs is None and not _is(example_kwarg_inputs, dict):
        raise RuntimeError("example_kwarg_inputs should be a dict")
    _run_example(func, example_inputs, example_kwarg_inputs or {})
    return _as_compiled(func)


def trace_module(
    mod: _T,
    inputs: dict[str, Any],
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> _T:
    """Runs methods of a module, each with its example, and gives the module back: later calls run it as Python."""
    if not _is(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    for name, example in inputs.items():
        method = mod if name == "forward" else getattr(mod, name)
        positional, named = (None, example) if example_inputs_is_kwarg else (example, {})
        _run_example(method, positional, named)
    return _as_compiled(mod)


def _run_example(function: Any, positional: Any, named: dict[str, Any]) -> None:
    if positional is None:
        positional = ()
    function(*(positional if _is(positional, (tuple, list)) else (positional,)), **named)


def _no_torchscript(name: str, instead: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"torch.jit.{name}: there is no TorchScript here; {instead}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Raises NotImplementedError: {instead}."
    return refuse


save = _no_torchscript("save", "save the state_dict with torch.save")
load = _no_torchscript("load", "load a state_dict with torch.load")

__getattr__ = names_of(__name__)
