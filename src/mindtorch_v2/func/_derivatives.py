"""Derivatives of functions, by the same engine that ``backward`` uses.

Note [Levels]
A transform opens its inputs: tensors that nobody outside differentiates become leaves of its own, others are
linked to what they were. What it returns is closed again: a result keeps its graph only if that graph leads out, to
a tensor someone outside (an outer transform, or ``backward``) may differentiate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor
from ..utils._pytree import TreeSpec, tree_flatten, tree_map, treespec_pprint


class _Level:
    """The inputs that one transform has opened."""

    def __init__(self) -> None:
        self.keep_graph = torch.is_grad_enabled()
        self._leaves: set[int] = set()
        self._alive: list[Tensor] = []  # so that an id stays one tensor's

    def open(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
        if not (value.is_floating_point() or value.is_complex()):
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if value.requires_grad:
            return value.view_as(value)
        leaf = value.detach().requires_grad_()
        self._leaves.add(id(leaf))
        self._alive.append(leaf)
        return leaf

    def leads_out(self, tensor: Tensor) -> bool:
        """Whether the tensor depends on one that requires a gradient outside."""
        if not self.keep_graph or not tensor.requires_grad:
            return False
        if tensor.grad_fn is None:
            return id(tensor) not in self._leaves
        seen: set[Any] = set()
        nodes: list[Any] = [tensor.grad_fn]
        while nodes:
            node = nodes.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            if node.name() == "AccumulateGrad" and id(node.variable) not in self._leaves:
                return True
            nodes += [parent for parent, _ in node.next_functions]
        return False

    def close(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or not value.requires_grad or self.leads_out(value):
            return value
        return value.detach()

    def gradients(self, outputs: list[Tensor], inputs: list[Tensor], weights: list[Tensor]) -> list[Tensor]:
        """The gradients of the inputs, zeros where nothing depends on one."""
        used = [(y, w) for y, w in zip(outputs, weights, strict=True) if y.requires_grad]
        if not used:
            return [torch.zeros_like(x) for x in inputs]
        found = torch.autograd.grad(
            [y for y, _ in used],
            inputs,
            [w for _, w in used],
            retain_graph=True,
            create_graph=any(self.leads_out(y) or w.requires_grad for y, w in used),
            allow_unused=True,
        )
        return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


def _positions(argnums: int | tuple[int, ...], count: int) -> tuple[int, ...]:
    wanted = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for position in wanted:
        if not -count <= position < count:
            raise RuntimeError(f"Got argnum={position}, but only {count} positional inputs")
    return tuple(position % count for position in wanted)


def _open_arguments(
    level: _Level, args: tuple[Any, ...], argnums: int | tuple[int, ...]
) -> tuple[list[Any], list[Tensor], TreeSpec]:
    """The arguments with those to differentiate opened; these again, flat; and their nesting."""
    positions = _positions(argnums, len(args))
    opened = list(args)
    for position in positions:
        opened[position] = tree_map(level.open, args[position])
    chosen = opened[positions[0]] if isinstance(argnums, int) else tuple(opened[p] for p in positions)
    leaves, spec = tree_flatten(chosen)
    return opened, leaves, spec


def _split_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for leaf in tree_flatten(result[1])[0]:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return result


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns the gradient of ``func``, whose result is a scalar, and that result."""

    @wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        level = _Level()
        with torch.enable_grad():
            opened, leaves, spec = _open_arguments(level, args, argnums)
            output, aux = _split_aux(func(*opened, **kwargs), has_aux, "grad_and_value(f)(*args)")
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            gradients = level.gradients([output], leaves, [torch.ones_like(output)])
        found = spec.unflatten([level.close(gradient) for gradient in gradients])
        value = level.close(output)
        return (found, (value, tree_map(level.close, aux))) if has_aux else (found, value)

    return differentiated


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns the gradient of ``func``, whose result is a scalar."""
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return differentiated


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The result of ``func``, and the function that multiplies a vector with its Jacobian from the left."""
    level = _Level()
    with torch.enable_grad():
        opened, leaves, spec = _open_arguments(level, primals, tuple(range(len(primals))))
        output, aux = _split_aux(func(*opened), has_aux, "vjp(f, *primals)")
    outputs, output_spec = tree_flatten(output)
    for leaf in outputs:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"vjp(f, *primals): Expected f to return only tensors, got unsupported type {type(leaf)}"
            )

    def multiply(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        vectors, vector_spec = tree_flatten(cotangents)
        if vector_spec != output_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {treespec_pprint(vector_spec)}, primal output: {treespec_pprint(output_spec)}"
            )
        with torch.enable_grad():
            gradients = level.gradients(outputs, leaves, vectors)
        return spec.unflatten([level.close(gradient) for gradient in gradients])

    value = output_spec.unflatten([level.close(y) for y in outputs])
    return (value, multiply, tree_map(level.close, aux)) if has_aux else (value, multiply)


def jvp(
    func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False,
    has_aux: bool = False,
) -> Any:  # fmt: skip
    """The result of ``func``, and its Jacobian times a vector.

    The product with a vector from the left is linear in that vector; its derivative is the product from the right.
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected {name} to be a tuple. "
                "E.g. it should be valid to call f(*primals)."
            )
    level = _Level()
    with torch.enable_grad():
        opened, leaves, spec = _open_arguments(level, primals, tuple(range(len(primals))))
        directions, direction_spec = tree_flatten(tangents)
        if direction_spec != spec:
            raise RuntimeError(
                "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. "
                f"primals: {spec}, tangents: {direction_spec}"
            )
        for leaf, direction in zip(leaves, directions, strict=True):
            if leaf.shape != direction.shape:
                raise RuntimeError(
                    "Trying to set a forward gradient that has a different size than that of the original Tensor, this "
                    f"is not supported. Tensor is of size {list(leaf.shape)} while the given forward gradient is of "
                    f"size {list(direction.shape)}."
                )
        output, aux = _split_aux(func(*opened), has_aux, "jvp(f, primals, tangents)")
        outputs, output_spec = tree_flatten(output)
        dummies = [level.open(torch.zeros_like(y)) for y in outputs]
        products = level.gradients(outputs, leaves, dummies)
        moved = level.gradients(products, dummies, directions)
    value = output_spec.unflatten([level.close(y) for y in outputs])
    derivative = output_spec.unflatten([level.close(d) for d in moved])
    return (value, derivative, tree_map(level.close, aux)) if has_aux else (value, derivative)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The result of ``func``, and the function that multiplies its Jacobian there with a vector."""
    return func(*primals), lambda *tangents: jvp(func, primals, tangents)[1]


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that returns the Jacobian of ``func``, a row per element of the result."""

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        level = _Level()
        with torch.enable_grad():
            opened, leaves, spec = _open_arguments(level, args, argnums)
            output, aux = _split_aux(func(*opened, **kwargs), has_aux, "jacrev(f, *args)")
            outputs, output_spec = tree_flatten(output)
            rows = [_rows(level, y, leaves) for y in outputs]
        found = output_spec.unflatten([spec.unflatten([level.close(block) for block in row]) for row in rows])
        return (found, tree_map(level.close, aux)) if has_aux else found

    return jacobian


def _rows(level: _Level, output: Any, leaves: list[Tensor]) -> list[Tensor]:
    """The Jacobian of one result with respect to each input."""
    if not isinstance(output, Tensor):
        raise RuntimeError(
            f"jacrev(f, *args): Expected f to return only tensors, got unsupported type {type(output)}"
        )
    found: list[list[Tensor]] = []
    for index in range(output.numel()):
        one = torch.zeros_like(output).reshape(-1)
        one[index] = 1
        found.append(level.gradients([output], leaves, [one.reshape(output.shape)]))
    return [
        torch.stack([row[place] for row in found]).reshape(output.shape + leaf.shape)
        if found
        else torch.zeros(output.shape + leaf.shape, dtype=leaf.dtype, device=leaf.device)
        for place, leaf in enumerate(leaves)
    ]


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """The same function as :func:`jacrev` returns: the engine goes backward, which gives the same Jacobian."""
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that returns the matrix of second derivatives of ``func``."""
    return jacfwd(jacrev(func, argnums), argnums)
