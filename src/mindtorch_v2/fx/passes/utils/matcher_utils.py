"""Places of a graph that look like a pattern."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import mindtorch_v2 as torch

from ..._compatibility import compatibility
from ...graph import Graph
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@compatibility(is_backward_compatible=False)
@dataclass
class InternalMatch:
    """A place: what each node of the pattern is there."""

    # Nodes of the pattern that the search began with.
    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    # What stands for the pattern's inputs and results, in the pattern's order.
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Any] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors, self.nodes_map.copy(), self.placeholder_nodes.copy(), self.returning_nodes.copy()
        )


@compatibility(is_backward_compatible=False)
class SubgraphMatcher:
    """Finds a pattern in graphs. Its inputs match anything; what it computes inside must be used inside only."""

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = (
            [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]
        )

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        """Attributes are alike if both are tensors, or equal."""
        mine = _attribute(pn)
        other = _attribute(gn)
        if type(mine) is not type(other):
            return False
        return isinstance(mine, torch.Tensor) or mine is other

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        """Whether two nodes do the same, whatever their arguments are."""
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        return self._match_attributes(pn, gn) if pn.op == "get_attr" else pn.target == gn.target

    def _is_contained(self, nodes_map: dict[Node, Any]) -> bool:
        """Whether what the place computes inside is used inside only."""
        inside = {gn: pn for pn, gn in nodes_map.items() if isinstance(gn, Node) and pn.op != "placeholder"}
        for gn, pn in inside.items():
            if pn not in self.pattern_returning_nodes and any(user not in inside for user in gn.users):
                return False
        return True

    def _match_literals(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        if isinstance(pn, Node):  # an input of the pattern stands for a value
            if pn.op != "placeholder" or isinstance(gn, Node):
                return False
            if pn in match.nodes_map:
                return bool(match.nodes_map[pn] == gn)
            match.nodes_map[pn] = gn
            return True
        if isinstance(gn, Node):
            return False
        return self.ignore_literals or (type(pn) is type(gn) and bool(pn == gn))

    def _match_args(self, mine: Any, other: Any, match: InternalMatch) -> bool:
        if isinstance(mine, Node) and isinstance(other, Node):
            return self._match_nodes(mine, other, match)
        if isinstance(mine, (list, tuple)) and isinstance(other, (list, tuple)):
            return len(mine) == len(other) and all(
                self._match_args(a, b, match) for a, b in zip(mine, other, strict=True)
            )
        if isinstance(mine, dict) and isinstance(other, dict):
            return mine.keys() == other.keys() and all(
                self._match_args(mine[key], other[key], match) for key in mine
            )
        if isinstance(mine, slice) and isinstance(other, slice):
            return self._match_args(
                (mine.start, mine.stop, mine.step), (other.start, other.stop, other.step), match
            )
        return self._match_literals(mine, other, match)

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch, node_name_match: str = "") -> bool:
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if any(found is gn for found in match.nodes_map.values()):
            return False
        if not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        before = match.nodes_map.copy()
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        if self._match_args((pn.args, pn.kwargs), (gn.args, gn.kwargs), match):
            return True
        match.nodes_map = before
        return False

    def _remove_overlapping_matches(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        taken: set[Node] = set()
        kept = []
        for match in matches:
            inside = {
                gn
                for pn, gn in match.nodes_map.items()
                if isinstance(gn, Node) and pn.op not in ("placeholder", "output")
            }
            if not inside & taken:
                kept.append(match)
                taken |= inside
        return kept

    def _places(self, graph: Graph, node_name_match: str) -> Iterator[InternalMatch]:
        """Every way in which the anchors match nodes of the graph."""
        candidates = [
            [gn for gn in graph.nodes if self._nodes_are_equal(anchor, gn, node_name_match)]
            for anchor in self.pattern_anchors
        ]

        def following(index: int, match: InternalMatch) -> Iterator[InternalMatch]:
            if index == len(self.pattern_anchors):
                yield match
                return
            anchor = self.pattern_anchors[index]
            for gn in candidates[index]:
                attempt = copy.copy(match)
                if self._match_nodes(anchor, gn, attempt, node_name_match):
                    yield from following(index + 1, attempt)

        yield from following(0, InternalMatch(self.pattern_anchors))

    @compatibility(is_backward_compatible=False)
    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The places, in the order of the graph, none with a node of another unless that was asked for."""
        found: list[InternalMatch] = []
        for place in self._places(graph, node_name_match):
            mapped = place.nodes_map
            if len(mapped) == 0 or not self._is_contained(mapped):
                continue
            if any(node not in mapped for node in self.pattern_returning_nodes):
                continue
            place.placeholder_nodes = [mapped[n] for n in self.pattern_placeholder_nodes if n in mapped]
            place.returning_nodes = [mapped[n] for n in self.pattern_returning_nodes]
            found.append(place)
        return self._remove_overlapping_matches(found) if self.remove_overlapping_matches else found


def _attribute(node: Node) -> Any:
    found: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        found = getattr(found, part)
    return found
