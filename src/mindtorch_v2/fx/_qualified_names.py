"""The names under which generated code finds functions and classes.

Note [Public names of functions]
Generated code, the text of graphs and the names of nodes say where a function is found in PyTorch's namespace:
``torch.nn.functional.relu``, ``torch._C._nn.gelu``. Where it is written here is another matter, and what this package
is called as well. So what belongs to the package is looked up, by identity, in the namespaces that have it publicly;
everything else goes by its ``__module__`` and ``__name__``.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import mindtorch_v2 as torch

PACKAGE = torch.__name__
# Where functions of these modules live in PyTorch, whose names begin with the module's.
_NATIVE_PARTS = ("linalg", "fft", "special")
# Functions of torch.nn.functional that PyTorch has elsewhere than where the table has them.
_ELSEWHERE = {
    "linear": "torch._C._nn.linear", "avg_pool1d": "torch.avg_pool1d", "avg_pool2d": "torch._C._nn.avg_pool2d",
    "avg_pool3d": "torch._C._nn.avg_pool3d", "pad": "torch.nn.functional.pad",
}  # fmt: skip


def public_module(name: str) -> str:
    """A module's name as PyTorch's programs write it."""
    for own in (PACKAGE, "mindtorch_v2"):
        if name == own or name.startswith(f"{own}."):
            return "torch" + name[len(own) :]
    return name


def is_of_package(thing: Any) -> bool:
    """Whether a function, class or module is the library's own."""
    name = getattr(thing, "__module__", None) or getattr(thing, "__name__", "")
    if isinstance(thing, ModuleType):
        name = thing.__name__
    return isinstance(name, str) and public_module(name).split(".")[0] == "torch"


def _namespaces() -> list[tuple[str, str, Any]]:
    """Label, prefix of the names, namespace; the first that has a function names it."""
    found: list[tuple[str, str, Any]] = [("torch.functional", "", torch.functional), ("torch", "", torch)]
    found += [(f"torch._C._{part}", f"{part}_", getattr(torch, part)) for part in _NATIVE_PARTS]
    found += [("torch._C._nn", "", torch._C._nn), ("torch.nn.functional", "", torch.nn.functional)]
    found.append(("torch", "", import_module("mindtorch_v2._functions.rare")))
    return found


@cache
def _functions() -> dict[int, tuple[Any, str]]:
    names: dict[int, tuple[Any, str]] = {id(torch.istft): (torch.istft, "torch.istft")}
    for name, full in _ELSEWHERE.items():
        value = getattr(torch.nn.functional, name)
        names[id(value)] = value, full
    for label, prefix, space in _namespaces():
        for name in getattr(space, "__all__", None) or dir(space):
            value = vars(space).get(name)
            if callable(value) and not isinstance(value, type) and not name.startswith("__"):
                names.setdefault(id(value), (value, f"{label}.{prefix}{name}"))
    return names


def is_operator(thing: Any) -> bool:
    """Whether a callable is one of ``torch.ops``."""
    return not isinstance(thing, type) and str(getattr(thing, "__module__", "")).startswith("torch.ops.")


def _complete_native_names() -> None:
    """Gives ``torch._C`` the names that code says: ``_linalg.linalg_norm``, ``_nn.linear``."""
    for part in _NATIVE_PARTS:

        def find(name: str, part: str = part) -> Any:
            if name.startswith(f"{part}_"):
                return getattr(getattr(torch, part), name.removeprefix(f"{part}_"))
            raise AttributeError(f"module 'torch._C._{part}' has no attribute '{name}'")

        setattr(getattr(torch._C, f"_{part}"), "__getattr__", find)  # noqa: B010 - a module's, not its type's

    def find_in_nn(name: str) -> Any:
        if _ELSEWHERE.get(name) == f"torch._C._nn.{name}":
            return getattr(torch.nn.functional, name)
        raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")

    setattr(torch._C._nn, "__getattr__", find_in_nn)  # noqa: B010


def _lambda_name(function: Callable[..., Any]) -> str:
    """A lambda is called as the variable that its line assigns it to."""
    try:
        return inspect.getsource(function).split("=")[0].strip()
    except (OSError, TypeError):
        return "<lambda>"


def qualified_name(function: Any) -> str:
    """The name of a callable as generated code writes it."""
    if (found := _functions().get(id(function))) is not None:
        return found[1]
    name = getattr(function, "__name__", None)
    if name is not None and getattr(builtins, name, None) is function:
        return str(name)
    owner = getattr(function, "__objclass__", None) or _tensor_owner(function, name)
    if owner is torch.Tensor:
        return f"torch.Tensor.{name}"
    if name == "<lambda>":
        name = _lambda_name(function)
    return f"{public_module(_module_of(function))}.{name}"


def _tensor_owner(function: Any, name: str | None) -> type | None:
    """Tensor, if the function is one of its methods that are written in Python."""
    if inspect.isfunction(function) and name and vars(torch.Tensor).get(name) is function:
        return torch.Tensor
    return None


def _module_of(function: Any) -> str:
    module = getattr(function, "__module__", None)
    if module is not None:
        return str(module)
    name = getattr(function, "__name__", None)
    for guess in (torch, torch.nn.functional):
        if name is not None and getattr(guess, name, None) is function:
            return str(guess.__name__)
    raise RuntimeError(f"cannot find module for {function}")


_complete_native_names()
