"""Backward passes: `backward` and `grad`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from .. import _C
from .._C import Tensor
from .._functions import zeros_like
from .graph import GradientEdge

_One = Tensor | GradientEdge
_Tensors = _One | Iterable[_One]  # of a generator too, such as parameters()


def _as_list(value: Any, what: str) -> list[Any]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, GradientEdge):
        return [_at(value)]
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f"{what}: wanted a Tensor or a sequence of them, got {type(value).__name__}")
    return [_at(one) if isinstance(one, GradientEdge) else one for one in value]


def _several(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (tuple, list)) and not isinstance(value, GradientEdge) else (value,)


def _at(edge: GradientEdge) -> Tensor:
    """What stands for an edge in a pass."""
    return _C._tensor_at_edge(edge.node, edge.output_nr)


def _grad_list(grads: Any, count: int) -> list[Any]:
    if grads is None:
        return [None] * count
    out = _as_list(grads, "grad_tensors")
    if len(out) != count:
        raise RuntimeError(f"got {count} tensors and {len(out)} gradients")
    return out


def _calculate_shape(output: Any, grad: Tensor, is_grads_batched: bool) -> tuple[Any, Any]:
    """The shapes that must be equal: of an output, or the node it is of, and of its gradient or one of its batch."""
    at: Any = _at(output) if isinstance(output, GradientEdge) else output
    if at.is_nested and hasattr(at, "_nested_tensor_size"):  # in the strided layout, those of the parts
        return at._nested_tensor_size(), grad._nested_tensor_size()  # type: ignore[attr-defined]
    return at.shape, grad.shape[1:] if is_grads_batched else grad.shape


def backward(
    tensors: _Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: _Tensors | None = None,
) -> None:
    """Adds the gradients of `tensors` to the `.grad` of the leaves (of `inputs`, if given)."""
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please "
                "only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    roots = _as_list(tensors, "tensors")
    leaves = [] if inputs is None else _as_list(inputs, "inputs")
    if inputs is not None and not leaves:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    _C._backward(roots, _grad_list(grad_tensors, len(roots)), leaves, keep, create_graph)


def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`; `.grad` is left alone."""
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    edges = [isinstance(one, GradientEdge) for one in _several(inputs)] if materialize_grads else []
    roots, wanted = _as_list(outputs, "outputs"), _as_list(inputs, "inputs")
    keep = create_graph if retain_graph is None else retain_graph
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    unused = materialize_grads if allow_unused is None else allow_unused
    if is_grads_batched:
        rest = (create_graph, unused, materialize_grads)
        return _batched_grads(roots, wanted, _grad_list(grad_outputs, len(roots)), keep, *rest)
    found = _C._grad(roots, _grad_list(grad_outputs, len(roots)), wanted, keep, create_graph, unused)
    if materialize_grads:
        if any(g is None and edge for g, edge in zip(found, edges, strict=False)):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        found = [
            zeros_like(x, requires_grad=create_graph) if g is None else g
            for g, x in zip(found, wanted, strict=True)
        ]
    return tuple(found)


def _batched_grads(
    roots: list[Tensor],
    wanted: list[Tensor],
    grads: list[Any],
    keep: bool,
    create_graph: bool,
    unused: bool,
    materialize: bool,
) -> tuple[Tensor | None, ...]:
    """One backward pass with gradients that stand for all entries of their first dimension."""
    sizes = [g.size(0) for g in grads if g is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    for i, (g, y) in enumerate(zip(grads, roots, strict=True)):
        if g is not None and g.shape[1:] != y.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a "
                f"shape of {y.shape}. If you only want some tensors in `grad_output` to be considered batched, "
                "consider using vmap."
            )
    level = _C._functorch._vmap_increment_nesting(sizes[0], "unasked")
    try:
        found = grad(
            roots,
            wanted,
            [None if g is None else _C._functorch._add_batch_dim(g, 0, level) for g in grads],
            retain_graph=keep,
            create_graph=create_graph,
            allow_unused=unused,
            materialize_grads=materialize,
        )
        return tuple(
            None if g is None else _C._functorch._remove_batch_dim(g, level, sizes[0], 0) for g in found
        )
    finally:
        _C._functorch._vmap_decrement_nesting()


def _as_tuples(outputs: Any, inputs: Any, *rest: Any) -> tuple[Any, ...]:
    """What those who are asked for grad() are given."""
    given = [one if isinstance(one, (tuple, list)) else (one,) for one in (outputs, inputs)]
    return (*map(tuple, given), *rest)


grad.__given__ = _as_tuples  # type: ignore[attr-defined]
for _function in (backward, grad):
    _function.__module__ = __package__  # where people know them
