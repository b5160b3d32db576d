"""Derivatives of functions: products with vectors, Jacobians and Hessians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor
from . import _above

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
        if not is_tuple:
            raise RuntimeError("The given v should contain a single Tensor.")
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


def _of_function(kind: str, i: int) -> str:
    """What `strict` says: of an output that needs no gradient, and of an input that does not matter."""
    if kind == "output":
        return (
            f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in "
            "a differentiable manner from the input when running in strict mode."
        )
    if kind == "input":
        return (
            f"The output of the user-provided function is independent of input {i}. This is not allowed in strict "
            "mode."
        )
    return (
        f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict "
        "mode when create_graph=True."
    )


def _of_gradient(kind: str, i: int) -> str:
    """The same where the outputs are gradients of a function."""
    return (
        f"While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} "
        "is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
        "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
        "function for example)."
    )


def _of_first(kind: str, i: int) -> str:
    """For the first of two differentiations."""
    return _of_gradient(kind, i) if kind == "jacobian" else _of_function(kind, i)


def _grads(
    outputs: _Tensors,
    inputs: _Tensors,
    vectors: Any,
    create_graph: bool,
    strict: bool,
    words: Callable[[str, int], str] = _of_function,
) -> _Tensors:
    """Gradients with zeros where an input does not matter, which `strict` refuses."""
    used = [i for i, y in enumerate(outputs) if y.requires_grad]
    if strict and len(used) < len(outputs):
        raise RuntimeError(words("output", next(i for i in range(len(outputs)) if i not in used)))
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
    for i, g in enumerate(found if strict else ()):
        if g is None:
            raise RuntimeError(words("input", i))
        if create_graph and not g.requires_grad:
            raise RuntimeError(words("jacobian", i))
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
        product = _grads(outputs, leaves, vectors, create_graph, strict)
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
        pulled = _grads(outputs, leaves, dummies, True, strict)
        if any(g.requires_grad for g in pulled):
            pushed = _grads(pulled, dummies, vectors, create_graph, strict and create_graph)
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
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorize=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    with torch.enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "jacobian")
        leaves = _prepared(given, create_graph)
        is_tuple_out, outputs = _as_tuple(func(*leaves), "outputs of the user-provided function", "jacobian")
        blocks = []
        for o, output in enumerate(outputs):

            def words(kind: str, i: int, o: int = o) -> str:
                of = {"output": o, "input": i, "jacobian": i}[kind]
                text = _of_function(kind, of)
                return text.replace("The output of", f"Output {o} of") if kind == "input" else text

            rows: list[list[Tensor]] = [[] for _ in leaves]
            for element in output.reshape(-1).unbind():
                found = _grads((element,), leaves, None, create_graph, strict, words)
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


def _construct_standard_basis_for(tensors: _Tensors, tensor_numels: tuple[int, ...]) -> _Tensors:
    """The unit vectors of the space that the tensors span together, a row each, cut where one tensor ends."""
    if len(tensors) != len(tensor_numels) or not tensors:
        raise AssertionError(f"wanted a size for each tensor, got {len(tensor_numels)} for {len(tensors)}")
    total, begins = sum(tensor_numels), 0
    pieces = []
    for tensor, count in zip(tensors, tensor_numels, strict=True):
        piece = tensor.new_zeros(total, count)
        piece.diagonal(-begins).fill_(1)
        pieces.append(piece)
        begins += count
    return tuple(pieces)


def _forward_jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool, vectorize: bool
) -> Any:
    """The same in forward mode: a column for each element of the inputs."""
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )
    is_tuple, given = _as_tuple(inputs, "inputs", "jacobian")
    leaves = _prepared(given, create_graph)
    is_tuple_out = [False]

    def checked(*args: Tensor) -> _Tensors:
        is_tuple_out[0], outputs = _as_tuple(func(*args), "outputs of the user-provided function", "jacobian")
        return outputs

    with torch.enable_grad():
        blocks = _above.func().jacfwd(checked, tuple(range(len(leaves))))(*leaves)
    made = tuple(_like(is_tuple, _finished(block, create_graph)) for block in blocks)
    return _like(is_tuple_out[0], made)


def _scalar_function(func: Callable[..., Any], name: str) -> Callable[..., Tensor]:
    def checked(*args: Tensor) -> Tensor:
        is_tuple, outputs = _as_tuple(func(*args), "outputs of the user-provided function", name)
        if is_tuple:
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if outputs[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {name} should contain a single element"
            )
        return outputs[0].squeeze() if outputs[0].dim() else outputs[0]

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
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    is_tuple, given = _as_tuple(inputs, "inputs", "hessian")
    value = _scalar_function(func, "hessian")

    def scalar(*args: Tensor) -> Tensor:
        made = value(*args)
        if strict and not made.requires_grad:
            raise RuntimeError(_of_function("output", 0))
        return made

    def gradient(*args: Tensor) -> _Tensors:
        found = tuple(jacobian(scalar, args, create_graph=True))
        for i, one in enumerate(found if strict else ()):
            if not one.requires_grad:
                raise RuntimeError(_of_gradient("jacobian", i))
        return found

    made = jacobian(
        gradient,
        given,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return made if is_tuple else made[0][0]


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's value and the product of `v` with its Hessian."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    with torch.enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", name)
        leaves = _prepared(given, create_graph)
        vectors = (
            _default_v(given, "the input to the user-provided function")
            if v is None
            else _checked_v(v, given, is_tuple, name)
        )
        output = _scalar_function(func, name)(*leaves)
        gradient = _grads((output,), leaves, None, True, strict, _of_first)
        product = _grads(gradient, leaves, vectors, create_graph, strict, _of_gradient)
    return _finished((output,), create_graph)[0], _like(is_tuple, _finished(product, create_graph))


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's value and the product of its Hessian, which is symmetric, with `v`."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)
