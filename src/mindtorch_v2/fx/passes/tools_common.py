"""What passes ask of nodes."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._compatibility import compatibility
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, _get_qualified_name, map_arg

__all__ = [
    "CALLABLE_NODE_OPS", "NodeList", "NodeSet", "get_acc_ops_name", "get_node_target", "is_node_output_tensor",
    "legalize_graph", "stable_topological_sort",
]  # fmt: skip

Tensors = tuple[torch.Tensor] | list[torch.Tensor]
TensorOrTensors = torch.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


@compatibility(is_backward_compatible=False)
def get_acc_ops_name(k: Any) -> str:
    """The name of a function, short for those of operator packages."""
    return str(k) if isinstance(k, str) else _get_qualified_name(k)


@compatibility(is_backward_compatible=False)
def get_node_target(submodules: dict[str, torch.nn.Module], node: Node) -> str:
    """What a node calls: the class of a module, the name of a function or method."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}")
    if node.op == "call_module":
        return str(torch.typename(submodules[str(node.target)]))
    return _get_qualified_name(node.target) if node.op == "call_function" else str(node.target)


@compatibility(is_backward_compatible=False)
def is_node_output_tensor(node: Node) -> bool:
    """Whether its value was found to be a tensor."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, torch.Tensor)


@compatibility(is_backward_compatible=False)
def legalize_graph(gm: GraphModule) -> GraphModule:
    """Puts the nodes into an order in which each follows its arguments."""
    return stable_topological_sort(gm)


@compatibility(is_backward_compatible=False)
def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """The same, changing the order no more than it must."""
    graph = Graph(tracer_cls=gm.graph._tracer_cls)
    graph._codegen = gm.graph._codegen
    known: dict[Node, Any] = {}
    waiting = list(gm.graph.nodes)
    while waiting:
        ready = next((n for n in waiting if all(source in known for source in n.all_input_nodes)), None)
        if ready is None:
            raise RuntimeError(f"Input graph has cycles, unable to add {waiting}")
        waiting.remove(ready)
        if ready.op == "output":
            made = graph.output(map_arg(ready.args[0], lambda n: known[n]), ready.type)
            made.meta = ready.meta.copy()
        else:
            known[ready] = graph.node_copy(ready, lambda n: known[n])
    gm.graph = graph
    return gm
