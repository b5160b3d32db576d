"""A module as several, each with a part of its graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mindtorch_v2 as torch

from .._compatibility import compatibility
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from ..proxy import Proxy

__all__ = ["Partition", "split_module"]

_OUTSIDE = ("placeholder", "get_attr", "output")


@compatibility(is_backward_compatible=True)
@dataclass
class Partition:
    """A part: its nodes, what it takes and gives, in the order in which that is met, and the parts it waits for."""

    name: str
    submod_name: str = ""
    nodes: list[Node] = field(default_factory=list)
    inputs: dict[Node, None] = field(default_factory=dict)
    outputs: dict[Node, None] = field(default_factory=dict)
    dependencies: dict[str, None] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.nodes},\n inputs: {list(self.inputs)},\n "
            f"outputs: {list(self.outputs)},\n partitions depended on: {list(self.dependencies)}"
        )


@compatibility(is_backward_compatible=True)
def split_module(
    m: GraphModule,
    root_m: torch.nn.Module,
    split_callback: Callable[[Node], int],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
) -> GraphModule:
    """Puts the nodes that ``split_callback`` gives the same number into a module of their own, ``submod_<number>``.

    ``qualname_map`` is filled with where the parts' modules were before. ``keep_original_order``: parts run in the
    order of their first nodes rather than as soon as they can.
    """
    parts: dict[str, Partition] = {}
    home: dict[Node, str] = {}
    for node in m.graph.nodes:
        if node.op not in _OUTSIDE:
            home[node] = name = str(split_callback(node))
            if name not in parts:
                affix = f"{partition_affix}_" if partition_affix else ""
                parts[name] = Partition(name, f"submod_{affix}{name}")
            parts[name].nodes.append(node)
    for node in m.graph.nodes:
        for source in node.all_input_nodes:
            if home.get(source) == home.get(node):
                continue
            if node in home:
                parts[home[node]].inputs.setdefault(source)
            if source in home:
                parts[home[source]].outputs.setdefault(source)
                if node in home:
                    parts[home[node]].dependencies.setdefault(home[source])
    order = _ordered(parts)
    if keep_original_order:
        order = _by_first_node(parts, order)
    modules = {
        parts[name].submod_name: _submodule(m, parts[name], qualname_map, keep_original_input_name)
        for name in order
    }
    return _outer(m, [parts[name] for name in order], modules, bool(keep_original_node_name))


def _ordered(parts: dict[str, Partition]) -> list[str]:
    """Parts after those they wait for."""
    waiting = {name: dict(part.dependencies) for name, part in parts.items()}
    done: list[str] = []
    ready = [name for name, others in waiting.items() if not others]
    while ready:
        name = ready.pop(0)
        done.append(name)
        for other, others in waiting.items():
            if name in others:
                del others[name]
                if not others:
                    ready.append(other)
    if len(done) != len(parts):
        raise RuntimeError("cycle exists between partitions!")
    return done


def _by_first_node(parts: dict[str, Partition], order: list[str]) -> list[str]:
    wanted = list(parts)  # in the order in which they were met
    place = {name: index for index, name in enumerate(wanted)}
    for name in wanted:
        if any(place[other] > place[name] for other in parts[name].dependencies):
            return order  # a part takes what a later one gives
    return wanted


def _submodule(
    m: GraphModule, part: Partition, qualname_map: dict[str, str] | None, keep_input_names: bool
) -> GraphModule:
    graph = Graph()
    known: dict[Node, Any] = {}
    for index, source in enumerate(part.inputs):
        made = graph.placeholder(source.name if keep_input_names else f"arg_{index}", type_expr=source.type)
        made.meta = source.meta.copy()
        known[source] = made
    targets: dict[str, Any] = {}
    for node in part.nodes:
        copied = known[node] = graph.node_copy(node, lambda n: known[n])
        if node.op == "call_module":
            targets[str(node.target)] = m.get_submodule(str(node.target))
            flat = str(node.target).replace(".", "_")
            targets[flat] = targets.pop(str(node.target))
            copied.target = flat
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{flat}"] = str(node.target)
    results = tuple(known[node] for node in part.outputs)
    if results:
        graph.output(results[0] if len(results) == 1 else results)
    return GraphModule(targets, graph)


def _outer(
    m: GraphModule,
    parts: list[Partition],
    modules: dict[str, GraphModule],
    keep_names: bool,
) -> GraphModule:
    graph = Graph(tracer_cls=m.graph._tracer_cls)
    known: dict[Node, Any] = {}
    attributes: dict[str, Any] = dict(modules)
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            known[node] = graph.node_copy(node)
            if node.op == "get_attr":
                attributes[str(node.target)] = _attribute(m, str(node.target))
    for part in parts:
        called = graph.create_node(
            "call_module", part.submod_name, tuple(known[source] for source in part.inputs)
        )
        if len(part.outputs) == 1:
            known[next(iter(part.outputs))] = called
            continue
        proxy: Any = Proxy(called)
        for index, node in enumerate(part.outputs):
            known[node] = proxy[index].node
            if keep_names:
                known[node]._rename(node.name)
    for node in m.graph.nodes:
        if node.op == "output":
            graph.output(map_arg(node.args[0], lambda n: known[n]), node.type).meta = node.meta.copy()
    made = GraphModule(attributes, graph)
    return made


def _attribute(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module
