"""Nested inputs taken apart by a description that says more than their nesting: which keys, in which order."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

from ..utils._pytree import PyTree as PyTree
from ..utils._pytree import TreeSpec as TreeSpec
from ..utils._pytree import is_namedtuple_instance

FlattenFuncSpec = Callable[[PyTree, TreeSpec], list[Any]]
FlattenFuncExactMatchSpec = Callable[[PyTree, TreeSpec], bool]

SUPPORTED_NODES: dict[Any, FlattenFuncSpec] = {}
SUPPORTED_NODES_EXACT_MATCH: dict[Any, FlattenFuncExactMatchSpec | None] = {}


def register_pytree_flatten_spec(
    cls: type[Any],
    flatten_fn_spec: FlattenFuncSpec,
    flatten_fn_exact_match_spec: FlattenFuncExactMatchSpec | None = None,
) -> None:
    """How values of a class are taken apart by a description."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def tree_flatten_spec(pytree: PyTree, spec: TreeSpec, exact_structural_match: bool = False) -> list[Any]:
    """The leaves of ``pytree`` at the places that ``spec`` describes; what it has besides is left out."""
    if spec.is_leaf():
        return [pytree]
    kind = namedtuple if is_namedtuple_instance(pytree) and type(pytree) not in SUPPORTED_NODES else spec.type
    if kind not in SUPPORTED_NODES:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your model, make sure that any "
            "custom pytrees have been registered before loading it."
        )
    parts = SUPPORTED_NODES[kind](pytree, spec)
    exact = SUPPORTED_NODES_EXACT_MATCH.get(kind)
    if exact_structural_match and exact is not None and not exact(pytree, spec):
        raise RuntimeError(f"Cannot flatten pytree {pytree}, given spec: {spec}")
    leaves: list[Any] = []
    for part, child in zip(parts, spec.children_specs, strict=False):
        leaves += tree_flatten_spec(part, child, exact_structural_match)
    return leaves


def _by_keys(mapping: Any, spec: TreeSpec) -> list[Any]:
    return [mapping[key] for key in spec.context]


def _same_keys(mapping: Any, spec: TreeSpec) -> bool:
    return list(mapping) == list(spec.context)


def _in_order(sequence: Any, spec: TreeSpec) -> list[Any]:
    return [sequence[index] for index in range(spec.num_children)]


def _same_length(sequence: Any, spec: TreeSpec) -> bool:
    return len(sequence) == spec.num_children


for _kind in (dict, OrderedDict):
    register_pytree_flatten_spec(_kind, _by_keys, _same_keys)
for _kind in (list, tuple, namedtuple):  # type: ignore[assignment] # the last is a function
    register_pytree_flatten_spec(_kind, _in_order, _same_length)
