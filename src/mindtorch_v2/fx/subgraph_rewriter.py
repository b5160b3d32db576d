"""Replaces parts of a graph that look like a pattern."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import mindtorch_v2 as torch

from ._compatibility import compatibility
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node

if TYPE_CHECKING:
    from .passes.utils.matcher_utils import InternalMatch

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

_Filter = Callable[["InternalMatch", Graph, Graph], bool]


@compatibility(is_backward_compatible=True)
class Match(NamedTuple):
    """A place where the pattern was: the node of the pattern it was found by, and what its nodes were there."""

    anchor: Node
    nodes_map: dict[Node, Node]


@compatibility(is_backward_compatible=False)
@dataclass
class ReplacedPatterns:
    """A place where the pattern was, and the nodes that are there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


@compatibility(is_backward_compatible=True)
def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | GraphModule,
    replacement: Callable[..., Any] | GraphModule,
) -> list[Match]:
    """Replaces every part of the module's graph that does what ``pattern`` does by what ``replacement`` does.

    Both are functions or modules with the same inputs; inputs match anything, also values. What two places share is
    replaced once.
    """
    return [Match(found.anchor, found.nodes_map) for found in _replace_pattern(gm, pattern, replacement)]


@compatibility(is_backward_compatible=False)
def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Callable[..., Any] | Graph | GraphModule,
    replacement: Callable[..., Any] | Graph | GraphModule | None = None,
    match_filters: list[_Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[..., Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """``replace_pattern`` for places that all of the filters accept; they get the match and both graphs.

    ``ignore_literals``: values of the pattern match others. ``replacement_callback`` makes the replacement of each
    place.
    """
    return _replace_pattern(
        gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match
    )


def _graph_of(thing: Any) -> Graph:
    if isinstance(thing, GraphModule):
        return thing.graph
    return thing if isinstance(thing, Graph) else symbolic_trace(thing).graph


def _replace_pattern(
    gm: GraphModule,
    pattern: Any,
    replacement: Any,
    match_filters: list[_Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[..., Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    from .passes.utils.matcher_utils import SubgraphMatcher

    wanted = _graph_of(pattern)
    matcher = SubgraphMatcher(
        wanted, match_output=False, match_placeholder=False, ignore_literals=ignore_literals
    )
    places = [
        match
        for match in matcher.match(gm.graph, node_name_match=node_name_match)
        if all(accepts(match, gm.graph, wanted) for accepts in match_filters or ())
    ]
    if replacement is not None:
        common: Graph | None = _graph_of(replacement)
    elif replacement_callback is not None:
        common = None
    else:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    moved: dict[Node, Node] = {}  # what nodes of the graph became
    done = []
    for place in places:
        new = common
        if new is None:
            assert replacement_callback is not None
            new = replacement_callback(place, gm.graph, wanted)
        done.append(_replace_at(gm, place, new, moved))
    gm.recompile()
    if isinstance(replacement, torch.nn.Module):
        _bring_modules(gm, replacement)
    return done


def _replace_at(
    gm: GraphModule, place: InternalMatch, new: Graph, moved: dict[Node, Node]
) -> ReplacedPatterns:
    inputs = [node for node in new.nodes if node.op == "placeholder"]
    if len(place.placeholder_nodes) != len(inputs):
        raise AssertionError(
            f"Expected {len(place.placeholder_nodes)} inputs of the replacement, as many as the pattern's, got "
            f"{len(inputs)}"
        )
    known: dict[Node, Any] = {}
    for node, given in zip(inputs, place.placeholder_nodes, strict=True):
        found = moved.get(given, given) if isinstance(given, Node) else given
        known[node] = found
        if isinstance(given, Node) and found is not given:
            place.placeholder_nodes[place.placeholder_nodes.index(given)] = found
            for key, value in place.nodes_map.items():
                if value is given:
                    place.nodes_map[key] = found
    before = _insertion_point(gm.graph, place)
    count = len(gm.graph.nodes)
    with gm.graph.inserting_before(before):
        result = gm.graph.graph_copy(new, known)
    results: tuple[Any, ...] = (result,) if isinstance(result, Node) else tuple(result)  # type: ignore[arg-type]
    if len(place.returning_nodes) != len(results):
        raise AssertionError(
            f"Expected {len(place.returning_nodes)} results of the replacement, as many as the pattern's, got "
            f"{len(results)}"
        )
    for old, made in zip(place.returning_nodes, results, strict=True):
        old.replace_all_uses_with(made)
        moved[old] = made
    made_nodes: list[Node] = []
    node = before.prev
    for _ in range(len(gm.graph.nodes) - count):
        made_nodes.insert(0, node)
        node = node.prev
    for pattern_node in reversed(place.anchors[0].graph.nodes):
        gn = place.nodes_map.get(pattern_node)
        if pattern_node.op not in ("placeholder", "output") and isinstance(gn, Node):
            gm.graph.erase_node(gn)
    return ReplacedPatterns(place.anchors[0], place.nodes_map, made_nodes)


def _insertion_point(graph: Graph, place: InternalMatch) -> Node:
    """The first node that takes a result of the place."""
    users: list[Node] = [user for node in place.returning_nodes for user in node.users]
    inside = set(filter(lambda value: isinstance(value, Node), place.nodes_map.values()))
    users = [user for user in users if user not in inside]
    if not users or all(node.op == "placeholder" for node in place.anchors):
        raise AssertionError("The insert point can't be None")
    return min(users)


def _bring_modules(gm: GraphModule, replacement: torch.nn.Module) -> None:
    """Takes out modules that nobody calls any more and puts in those of the replacement."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()

    def attribute(owner: torch.nn.Module, target: str) -> Any:
        found: Any = owner
        for part in target.split("."):
            found = getattr(found, part, None)
            if found is None:
                return None
        return found

    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        target = str(node.target)
        if attribute(gm, target) is not None:
            continue
        new = attribute(replacement, target)
        if new is None:
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target {target}, but the '
                "referenced attribute does not exist in either the original GraphModule gm or the replacement"
                " GraphModule replacement"
            )
        if isinstance(new, torch.nn.Module):
            gm.add_submodule(target, copy.deepcopy(new))
        else:
            owner, _, last = target.rpartition(".")
            setattr(gm.get_submodule(owner), last, copy.deepcopy(new))
    gm.graph.lint()
