"""Which nodes must stay in a graph though nobody takes their results."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import mindtorch_v2 as torch

from ._compatibility import compatibility

if TYPE_CHECKING:
    from .node import Node

_F = TypeVar("_F", bound=Callable[..., Any])

_side_effectful_functions: set[Callable[..., Any]] = {torch._assert, torch._assert_async, operator.setitem}

_RANDOM = (
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "poisson",
    "bernoulli", "multinomial",
)  # fmt: skip


@cache
def _random_functions() -> frozenset[Any]:
    return frozenset(getattr(torch, name) for name in _RANDOM)


@compatibility(is_backward_compatible=False)
def has_side_effect(fn: _F) -> _F:
    """A decorator: calls of the function stay in graphs though nobody takes their results."""
    _side_effectful_functions.add(fn)
    return fn


def is_impure(node: Node, impure_random: bool) -> bool:
    """What ``Node.is_impure`` answers."""
    if node.op in ("placeholder", "output"):
        return True
    if node.op == "call_function":
        if impure_random and node.target in _random_functions():
            return True
        return node.target in _side_effectful_functions
    if node.op == "call_module":
        owner = node.graph.owning_module
        if owner is None:
            raise AssertionError("self.graph.owning_module not set for purity check")
        if (module := owner.get_submodule(str(node.target))) is None:
            raise AssertionError(f"Did not find expected submodule target {node.target}")
        return bool(getattr(module, "_is_impure", False))
    return False
