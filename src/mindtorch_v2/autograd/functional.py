"""Derivatives of functions: products with vectors, Jacobians and Hessians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_Tensors = tuple[Tensor, ...]


def _as_tuple(value: Any, what: str, function: str) -> tuple[bool, _Tensors]:
    is_tuple = isinstance(value, tuple)
    values = value if is_tuple else (value,)
    for i, item in enumerate(values):
        if not isinstance(item, Tensor):
            where = f"{what} at index {i}" if is_tuple else what
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the value "
                f"of {where} has type {type(item)}."
            )
    return is_tuple, values


def _like(is_tuple: bool, values: tuple[Any, ...]) -> Any:
    return values if is_tuple else values[0]


def _prepared(inputs: _Tensors, create_graph: bool) -> _Tensors:
    """Inputs that start a graph of their own, joined to the caller's when that is to be differentiated."""
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs)
    return tuple(x.detach().requires_grad_() for x in inputs)


def _finished(values: _Tensors, create_graph: bool) -> _Tensors:
    return values if create_graph else tuple(v.detach() for v in values)


def _checked_v(v: Any, others: _Tensors, is_tuple: bool, function: str) -> _Tensors:
    _, vectors = _as_tuple(v, "v", function)
    if len(vectors) != len(others):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(others)} but got {len(vectors)}.")
    for i, (one, other) in enumerate(zip(vectors, others, strict=True)):
        if one.shape != other.shape:
            where = f"Entry {i} in v" if is_tuple else "v"
            raise RuntimeError(f"{where} has invalid size: should be {other.shape} but got {one.shape}.")
    return vectors


def _default_v(outputs: _Tensors, what: str) -> _Tensors:
    if len(outputs) != 1 or outputs[0].numel() != 1:
        raise RuntimeError(
            f"The vector v can only be None if {what} is a single Tensor with a single element."
        )
    return (torch.ones_like(outputs[0]),)


def _grads(
    outputs: _Tensors, inputs: _Tensors, vectors: Any, create_graph: bool, strict: bool, function: str
) -> _Tensors:
    """Gradients with zeros where an input does not matter, which `strict` refuses."""
    used = [i for i, y in enumerate(outputs) if y.requires_grad]
    if strict and len(used) < len(outputs):
        raise RuntimeError(
            f"The output of the user-provided function is independent of the input. This is not allowed in "
            f"strict mode. ({function})"
        )
    if not used:
        return tuple(torch.zeros_like(x) for x in inputs)
    chosen = None if vectors is None else [vectors[i] for i in used]
    found = torch.autograd.grad(
        [outputs[i] for i in used],
        inputs,
        chosen,
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )
    if strict and any(g is None for g in found):
        raise RuntimeError(
            f"The output of the user-provided function is independent of an input. This is not allowed in "
            f"strict mode. ({function})"
        )
    return tuple(torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True))


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's value and the product of `v` with its Jacobian."""
    with torch.enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "vjp")
        leaves = _prepared(given, create_graph)
        is_tuple_out, outputs = _as_tuple(func(*leaves), "outputs of the user-provided function", "vjp")
        vectors = (
            _default_v(outputs, "the user-provided function returns")
            if v is None
            else _checked_v(v, outputs, is_tuple_out, "vjp")
        )
        product = _grads(outputs, leaves, vectors, create_graph, strict, "vjp")
    return (
        _like(is_tuple_out, _finished(outputs, create_graph)),
        _like(is_tuple, _finished(product, create_graph)),
    )


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's value and the product of its Jacobian with `v`, by differentiating backward twice."""
    with torch.enable_grad():
        _, given = _as_tuple(inputs, "inputs", "jvp")
        leaves = _prepared(given, create_graph)
        vectors = (
            _default_v(given, "the input to the user-provided function")
            if v is None
            else _checked_v(v, given, isinstance(inputs, tuple), "jvp")
        )
        is_tuple_out, outputs = _as_tuple(func(*leaves), "outputs of the user-provided function", "jvp")
        dummies = tuple(torch.zeros_like(y, requires_grad=True) for y in outputs)
        pulled = _grads(outputs, leaves, dummies, True, strict, "jvp")
        if any(g.requires_grad for g in pulled):
            pushed = _grads(pulled, dummies, vectors, create_graph, False, "jvp")
        else:
            pushed = tuple(torch.zeros_like(y) for y in outputs)
    return (
        _like(is_tuple_out, _finished(outputs, create_graph)),
        _like(is_tuple_out, _finished(pushed, create_graph)),
    )


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All derivatives of the outputs with respect to the inputs: output shape + input shape."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more '
            'outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
            '"reverse-mode".'
        )
    with torch.enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "jacobian")
        leaves = _prepared(given, create_graph)
        is_tuple_out, outputs = _as_tuple(func(*leaves), "outputs of the user-provided function", "jacobian")
        blocks = []
        for output in outputs:
            rows: list[list[Tensor]] = [[] for _ in leaves]
            for element in output.reshape(-1).unbind():
                found = _grads((element,), leaves, None, create_graph, strict, "jacobian")
                for column, grad in zip(rows, found, strict=True):
                    column.append(grad)
            blocks.append(
                tuple(
                    torch.stack(column).view(output.shape + leaf.shape)
                    if column
                    else torch.zeros(*output.shape, *leaf.shape, dtype=leaf.dtype)
                    for column, leaf in zip(rows, leaves, strict=True)
                )
            )
    made = tuple(_like(is_tuple, _finished(block, create_graph)) for block in blocks)
    return _like(is_tuple_out, made)


def _scalar_function(func: Callable[..., Any], name: str) -> Callable[..., Tensor]:
    def checked(*args: Tensor) -> Tensor:
        is_tuple, outputs = _as_tuple(func(*args), "outputs of the user-provided function", name)
        if is_tuple or outputs[0].numel() != 1:
            raise RuntimeError(
                f"The function given to {name} should return a single Tensor with a single element."
            )
        return outputs[0].reshape(())

    return checked


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function with one value."""
    is_tuple, given = _as_tuple(inputs, "inputs", "hessian")
    scalar = _scalar_function(func, "hessian")

    def gradient(*args: Tensor) -> _Tensors:
        found = jacobian(scalar, args, create_graph=True, strict=strict)
        return tuple(found)

    made = jacobian(gradient, given, create_graph=create_graph, strict=strict)
    return made if is_tuple else made[0][0]


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's value and the product of `v` with its Hessian."""
    with torch.enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "vhp")
        leaves = _prepared(given, create_graph)
        vectors = (
            _default_v(given, "the input to the user-provided function")
            if v is None
            else _checked_v(v, given, is_tuple, "vhp")
        )
        output = _scalar_function(func, "vhp")(*leaves)
        gradient = _grads((output,), leaves, None, True, strict, "vhp")
        product = _grads(gradient, leaves, vectors, create_graph, strict, "vhp")
    return _finished((output,), create_graph)[0], _like(is_tuple, _finished(product, create_graph))


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's value and the product of its Hessian, which is symmetric, with `v`."""
    return vhp(func, inputs, v, create_graph, strict)
