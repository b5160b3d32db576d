"""A backward pass in two halves: first the gradients that other stages wait for, later those of the parameters.

Note [Two halves]
Nodes of the graph that lead to the stage's inputs are its main path. A joint is a node of it from which parameters
hang that are reached without the path: a linear layer, with its weight and bias. The first half runs the path alone and
keeps what arrives at each joint; the second runs each joint again, for its parameters alone. No product is computed
twice. Where a parameter hangs from two joints (weights that are used twice) the second half of one would run into the
other: then, and where the gradients of a stage are averaged over copies or sharded, whose hooks want one pass, the
first half is all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._C import Tensor
from ...autograd import backward, grad
from ...autograd.graph import GradientEdge, get_gradient_edge


class Halves:
    """The backward pass of a microbatch from its roots, whose gradients are given."""

    def __init__(
        self, roots: Sequence[Tensor], given: Sequence[Tensor | None], inputs: Sequence[Tensor]
    ) -> None:
        self._roots, self._given = list(roots), list(given)
        self._inputs = [each for each in inputs if each.requires_grad]
        self._later: list[Callable[[], None]] = []

    def first(self) -> list[Tensor | None]:
        """The gradients of those inputs that have some."""
        if not self._roots:
            return [None] * len(self._inputs)
        edges = [get_gradient_edge(each) for each in self._roots]
        ends = {get_gradient_edge(each).node for each in self._inputs}
        path = _leading_to(ends, [each.node for each in edges])
        hanging = {node: _hanging_from(node, path) for node in path - ends}
        beside = [edge for edge in edges if edge.node not in path]
        hanging_beside = [_leaves_of([edge.node], path) for edge in beside]
        owned = [leaf for some in (*hanging.values(), *hanging_beside) for leaf in some]
        if len(owned) != len(set(owned)):
            return self._whole()
        arrived: dict[Any, Sequence[Tensor | None]] = {}
        hooks = [
            node.register_prehook(lambda grads, node=node: arrived.update({node: grads}))
            for node, leaves in hanging.items()
            if leaves
        ]
        on_path = [number for number, edge in enumerate(edges) if edge.node in path]
        try:
            found = grad(
                [self._roots[number] for number in on_path], self._inputs,
                [self._given[number] for number in on_path], retain_graph=True, allow_unused=True,
            ) if on_path and self._inputs else [None] * len(self._inputs)  # fmt: skip
        finally:
            for hook in hooks:
                hook.remove()
        for node, grads in arrived.items():
            known = [
                (GradientEdge(node, number), each) for number, each in enumerate(grads) if each is not None
            ]
            if known:
                self._postpone([edge for edge, _ in known], [each for _, each in known], hanging[node])
        for number, edge in enumerate(edges):
            if edge.node not in path:
                leaves = hanging_beside[beside.index(edge)]
                if leaves:
                    self._postpone([self._roots[number]], [self._given[number]], leaves)
        self._roots, self._given = [], []
        return list(found)

    def _postpone(self, roots: list[Any], given: list[Any], leaves: set[Any]) -> None:
        wanted = [leaf.variable for leaf in leaves]
        self._later.append(lambda: backward(roots, given, inputs=wanted))

    def _whole(self) -> list[Tensor | None]:
        backward(self._roots, self._given)
        found = [each.grad for each in self._inputs]
        for each in self._inputs:
            each.grad = None
        return found

    def second(self) -> None:
        """Adds the gradients of the parameters to what they have."""
        while self._later:
            self._later.pop(0)()


def _children(node: Any) -> list[Any]:
    return [child for child, _ in node.next_functions if child is not None]


def _leading_to(ends: set[Any], roots: list[Any]) -> set[Any]:
    """The nodes below the roots from which an end is reached."""
    found, seen = set(), set()
    stack = [(root, False) for root in roots]
    while stack:
        node, done = stack.pop()
        if done:
            if node in ends or any(child in found for child in _children(node)):
                found.add(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(child, False) for child in _children(node) if child not in seen]
    return found


def _leaves_of(nodes: list[Any], path: set[Any]) -> set[Any]:
    """The leaves below nodes, without the path."""
    leaves, seen, stack = set(), set(), list(nodes)
    while stack:
        node = stack.pop()
        if node in seen or node in path:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.add(node)
        stack += _children(node)
    return leaves


def _hanging_from(node: Any, path: set[Any]) -> set[Any]:
    return _leaves_of([child for child in _children(node) if child not in path], path)
