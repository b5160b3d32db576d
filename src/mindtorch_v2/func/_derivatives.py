"""Derivatives of functions, by the same engine that ``backward`` uses.

Note [Levels]
A transform opens its inputs: tensors that nobody outside differentiates become leaves of its own, others are
linked to what they were. What it returns is closed again: a result keeps its graph only if that graph leads out, to
a tensor someone outside (an outer transform, or ``backward``) may differentiate. Both keep the directions in which a
tensor moves (forward mode, :mod:`._forward`): what they lead to is asked of them too.

Whether someone outside does so at all depends on where a result goes to, not on where its function was made: the
function that ``vjp`` returns may be made where gradients are off and be differentiated by another transform. A graph
that leads out may also lead to leaves of the level that ended: they count as those of the level around it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import mindtorch_v2 as torch

from .. import _C
from .._C import Tensor
from ..utils._pytree import TreeSpec, tree_flatten, tree_map, treespec_pprint
from ._vmap import vmap


def _without_history(value: Tensor) -> Tensor:
    """The tensor outside the graphs of its level; a batch that it stands for keeps its own."""
    return _C._shallow_copy(value) if _C._functorch.is_batchedtensor(value) else value.detach()


_threads = threading.local()  # levels: those whose functions are running, the innermost last


class _Level:
    """The inputs that one transform has opened."""

    def __init__(self) -> None:
        self.keep_graph = False
        self._leaves: dict[int, Tensor] = {}  # by id, which stays one tensor's as long as that lives

    @contextmanager
    def running(self) -> Iterator[None]:
        """What is computed in it is recorded, whatever holds outside."""
        self.keep_graph = torch.is_grad_enabled()
        levels = _threads.__dict__.setdefault("levels", [])
        levels.append(self)
        try:
            with torch.inference_mode(False), torch.enable_grad():
                yield
        finally:
            levels.pop()

    def open(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
        if not (value.is_floating_point() or value.is_complex()):
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        given, value = value, _C._functorch._at_this_level(value)
        if value.requires_grad:
            opened = value.view_as(value)
            if any(node is not None for node, _ in opened.grad_fn.next_functions):
                return opened
            # A view made where nothing was recorded requires what its base does, but leads nowhere.
        if value.is_inference():
            value = value.clone()
        leaf = _moving_as(given, _without_history(value).requires_grad_())
        self._leaves[id(leaf)] = leaf
        return leaf

    def leads_out(self, tensor: Tensor) -> bool:
        """Whether the tensor, or the direction it moves in, depends on one that requires a gradient outside."""
        return self._graph_leads_out(tensor) or any(
            self.leads_out(tangent) for _, tangent in _C._forward.tangents(tensor)
        )

    def _graph_leads_out(self, tensor: Tensor) -> bool:
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
            if node.name() == "torch::autograd::AccumulateGrad" and id(node.variable) not in self._leaves:
                return True
            nodes += [parent for parent, _ in node.next_functions]
        return False

    def _goes_on(self, tensor: Tensor) -> bool:
        """Whether somebody may differentiate what is computed from it."""
        if not self.keep_graph:
            return False
        return self.leads_out(tensor) or _C._functorch._requires_grad_below(tensor)

    def close(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        if self._graph_leads_out(value):
            for around in getattr(_threads, "levels", [])[-1:]:
                around._leaves |= self._leaves
            return value
        moves = _C._forward.tangents(value)
        if not value.requires_grad and not moves:
            return value
        closed = _without_history(value)
        kept = {level for level, _ in _C._forward.tangents(closed)}
        for level, tangent in moves:
            if level not in kept:
                _C._forward.set_tangent(closed, self.close(tangent), level)
        return closed

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
            create_graph=any(self._goes_on(y) or w.requires_grad or self._goes_on(w) for y, w in used),
            allow_unused=True,
        )
        return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


def _moving_as(tensor: Tensor, made: Tensor) -> Tensor:
    """Lets what was made of a tensor move as it does."""
    kept = {level for level, _ in _C._forward.tangents(made)}
    for level, tangent in _C._forward.tangents(tensor):
        if level not in kept:
            _C._forward.set_tangent(made, tangent, level)
    return made


def positions_of(argnums: int | tuple[int, ...], count: int) -> tuple[int, ...]:
    wanted = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for position in wanted:
        if not -count <= position < count:
            raise RuntimeError(f"Got argnum={position}, but only {count} positional inputs")
    return tuple(position % count for position in wanted)


def _open_arguments(
    level: _Level, args: tuple[Any, ...], argnums: int | tuple[int, ...]
) -> tuple[list[Any], list[Tensor], TreeSpec]:
    """The arguments with those to differentiate opened; these again, flat; and their nesting."""
    positions = positions_of(argnums, len(args))
    opened = list(args)
    for position in positions:
        opened[position] = tree_map(level.open, args[position])
    chosen = opened[positions[0]] if isinstance(argnums, int) else tuple(opened[p] for p in positions)
    leaves, spec = tree_flatten(chosen)
    return opened, leaves, spec


def split_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
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
        with level.running():
            opened, leaves, spec = _open_arguments(level, args, argnums)
            output, aux = split_aux(func(*opened, **kwargs), has_aux, "grad_and_value(f)(*args)")
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
    with level.running():
        opened, leaves, spec = _open_arguments(level, primals, tuple(range(len(primals))))
        output, aux = split_aux(func(*opened), has_aux, "vjp(f, *primals)")
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
        with level.running():
            gradients = level.gradients(outputs, leaves, vectors)
        return spec.unflatten([level.close(gradient) for gradient in gradients])

    value = output_spec.unflatten([level.close(y) for y in outputs])
    return (value, multiply, tree_map(level.close, aux)) if has_aux else (value, multiply)


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
        with level.running():
            opened, leaves, spec = _open_arguments(level, args, argnums)
            output, aux = split_aux(func(*opened, **kwargs), has_aux, "jacrev(f, *args)")
            outputs, output_spec = tree_flatten(output)
            rows = [_rows(level, y, leaves, chunk_size) for y in outputs]
        found = output_spec.unflatten([spec.unflatten([level.close(block) for block in row]) for row in rows])
        return (found, tree_map(level.close, aux)) if has_aux else found

    return jacobian


def _rows(level: _Level, output: Any, leaves: list[Tensor], chunk_size: int | None) -> list[Tensor]:
    """The Jacobian of one result with respect to each input: a pass for all of its elements at once."""
    if not isinstance(output, Tensor):
        raise RuntimeError(
            f"jacrev(f, *args): Expected f to return only tensors, got unsupported type {type(output)}"
        )
    count = output.numel()
    if count == 0:
        return [
            torch.zeros(output.shape + leaf.shape, dtype=leaf.dtype, device=leaf.device) for leaf in leaves
        ]
    seeds = torch.eye(count, dtype=output.dtype, device=output.device).reshape(count, *output.shape)
    found = vmap(lambda seed: level.gradients([output], leaves, [seed]), chunk_size=chunk_size)(seeds)
    return [rows.reshape(output.shape + leaf.shape) for rows, leaf in zip(found, leaves, strict=True)]
