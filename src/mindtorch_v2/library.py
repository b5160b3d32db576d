"""Operators of one's own (``from torch import library``), for every device, with gradients."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from ._C import dtype
from ._library import custom_ops as _custom_ops
from ._library.custom_ops import CustomOpDef, CustomOperator, custom_op
from ._library.schema import infer_schema, parse
from ._library.table_operators import TableOperator

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl", "impl_abstract",
    "infer_schema", "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_vmap",
    "triton_op", "wrap_triton",
]  # fmt: skip


@contextlib.contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A library whose operators are gone at the end."""
    library = Library(ns, kind, dispatch_key)
    try:
        yield library
    finally:
        library._destroy()


_Op = str | CustomOperator | TableOperator | CustomOpDef


def _operator(op: _Op) -> CustomOperator | TableOperator:
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, CustomOperator | TableOperator):
        return op
    if not isinstance(op, str):
        raise ValueError(f"got unexpected type for op: {type(op)}; wanted 'namespace::name' or an operator")
    return _custom_ops.find(op.removesuffix(".default"))


def _decorator(function: Callable[..., Any] | None, register: Callable[[Callable[..., Any]], None]) -> Any:
    """Registers the function, or returns a decorator that does."""

    def decorate(given: Callable[..., Any]) -> Callable[..., Any]:
        register(given)
        return given

    return decorate if function is None else decorate(function)


class Library:
    """Operators of a namespace: "DEF" defines it, "FRAGMENT" adds to it, "IMPL" only registers kernels."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim", "aten") and kind in ("DEF", "FRAGMENT"):
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Defines an operator by its schema, ``name(Tensor x) -> Tensor``; returns its name."""
        if self.kind == "IMPL":
            raise RuntimeError("a Library of kind IMPL cannot define operators; use DEF or FRAGMENT")
        name, parenthesis, rest = schema.partition("(")
        short = name.strip().removeprefix(f"{self.ns}::")
        _custom_ops.add(parse(f"{self.ns}::{short}", parenthesis + rest), tags)
        return short

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Registers a kernel of an operator of this namespace for a dispatch key such as "CPU"."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if with_keyset:
            raise NotImplementedError("Library.impl(with_keyset=True): there are no dispatch keysets here")
        name = op_name if isinstance(op_name, str) else op_name.name()
        full = name if "::" in name else f"{self.ns}::{name}"
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        _custom_ops.set_kernel(full.removesuffix(".default"), key, fn)

    def _destroy(self) -> None:
        """Operators stay registered for the life of the process."""


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Defines ``ns::name`` with a schema such as ``(Tensor x) -> Tensor``."""
    if not isinstance(qualname, str):
        raise ValueError(
            f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}"
        )
    if "::" not in qualname:
        raise ValueError(
            f"define(qualname, schema): expected qualname to be of the form 'namespace::name', got {qualname!r}"
        )
    _custom_ops.add(parse(qualname, schema), tags)


def impl(
    qualname: Any,
    types: str | Sequence[str] | None = None,
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers an implementation for devices ("cpu", "meta", "default") or dispatch keys ("CPU", "Autograd")."""
    if isinstance(qualname, Library):  # the older form: impl(lib, name, dispatch_key)
        older, name = qualname, types
        key = func if isinstance(func, str) else ""
        return _decorator(None, lambda function: older.impl(name, function, key))
    name = qualname.removesuffix(".default") if isinstance(qualname, str) else _operator(qualname)._name
    places = [types] if isinstance(types, str) else list(types or ["default"])

    def register(function: Callable[..., Any]) -> None:
        for place in places:
            _custom_ops.set_kernel(name, place, function)

    return _decorator(func, register)


def register_kernel(
    op: _Op,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers an implementation for some devices; None is for all."""
    operator = _operator(op)
    places = [device_types] if device_types is None or isinstance(device_types, str) else list(device_types)

    def register(function: Callable[..., Any]) -> None:
        for place in places:
            operator.set_kernel(place, function)

    return _decorator(func, register)


def register_fake(
    op: _Op,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """Registers what makes empty results of the right shape: the implementation on the meta device."""
    operator = _operator(op)
    return _decorator(func, lambda function: operator.set_kernel("meta", function))


impl_abstract = register_fake


def register_autograd(
    op: _Op,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Registers ``backward(ctx, *grads)`` and ``setup_context(ctx, inputs, output)``."""
    _operator(op).set_gradient(backward, setup_context)


def register_vmap(op: _Op, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Registers ``func(info, in_dims, *args)``, which vmap calls with batches; it gives the results and where their
    batch dimensions lie."""
    return _decorator(func, _operator(op).set_vmap)


def register_autocast(
    op: _Op, device_type: str, cast_inputs: dtype, /, *, lib: Library | None = None
) -> None:
    """Casts floating-point inputs where autocast is on for that device."""
    _operator(op).set_autocast(device_type, cast_inputs)


def fallthrough_kernel() -> NoReturn:
    """Stands for "go on with the next key" in PyTorch; there is no next key here."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def get_ctx() -> NoReturn:
    """Raises: sizes that are only known at run time have no symbols here."""
    raise NotImplementedError("get_ctx: there are no symbolic sizes; return an empty result instead")


def triton_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any, schema: Any = None
) -> Any:
    """custom_op under another name. Kernels inside refuse when they are launched: see wrap_triton."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Callable[..., Any], /) -> Any:
    """Raises: Triton kernels cannot be launched. Operators call it when they run, not when they are defined."""
    raise NotImplementedError("wrap_triton: Triton kernels cannot be launched; use custom_op")
