"""Pictures of graphs, by the package pydot."""

from __future__ import annotations

from typing import Any

from .._compatibility import compatibility
from ..graph_module import GraphModule
from ..node import Node, _format_arg
from .shape_prop import TensorMetadata

try:
    import pydot

    HAS_PYDOT = True
except ModuleNotFoundError:
    HAS_PYDOT = False
    pydot = None

__all__ = ["FxGraphDrawer"]

_COLORS = {
    "placeholder": "AliceBlue",
    "call_module": "LemonChiffon1",
    "get_attr": "LightGrey",
    "output": "PowderBlue",
}
_COLORS_OF_CALLS = [
    "CadetBlue1",
    "Coral",
    "DarkOliveGreen1",
    "DarkSeaGreen1",
    "GhostWhite",
    "Khaki1",
    "LightSkyBlue",
]


@compatibility(is_backward_compatible=False)
class FxGraphDrawer:
    """Draws the graph of a module: a box for each node with what it calls, its arguments, and its shape if known."""

    def __init__(
        self,
        graph_module: GraphModule,
        name: str,
        ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False,
        skip_node_names_in_args: bool = True,
        parse_stack_trace: bool = False,
        dot_graph_shape: str | None = None,
        normalize_args: bool = False,
    ) -> None:
        if not HAS_PYDOT:
            raise RuntimeError(
                "FXGraphDrawer requires the pydot package to be installed. Please install pydot through your "
                "favorite Python package manager."
            )
        self._name = name
        self.dot_graph_shape = dot_graph_shape or "record"
        self.normalize_args = normalize_args
        self._skip_names = skip_node_names_in_args
        self._dot_graphs = {name: self._draw(graph_module, name, ignore_getattr)}
        for child_name, child in graph_module.named_children():
            if isinstance(child, GraphModule):
                full = f"{name}_{child_name}"
                self._dot_graphs[full] = self._draw(child, full, ignore_getattr)

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The picture, of a module inside if one is named."""
        return self._dot_graphs[self._name if submod_name is None else f"{self._name}_{submod_name}"]

    def get_main_dot_graph(self) -> Any:
        """The picture of the module itself."""
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The picture of a module inside."""
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """All pictures, by name."""
        return self._dot_graphs

    def _draw(self, module: GraphModule, name: str, ignore_getattr: bool) -> Any:
        picture = pydot.Dot(name, rankdir="TB")
        shown = [n for n in module.graph.nodes if not (ignore_getattr and n.op == "get_attr")]
        for node in shown:
            picture.add_node(pydot.Node(node.name, label=self._label(module, node), **self._style(node)))
        for node in shown:
            for source in node.all_input_nodes:
                if source in shown:
                    picture.add_edge(pydot.Edge(source.name, node.name))
        return picture

    def _style(self, node: Node) -> dict[str, str]:
        color = _COLORS.get(node.op)
        if color is None:  # the same for the same function
            text = node._pretty_print_target(node.target)
            color = _COLORS_OF_CALLS[sum(map(ord, text)) % len(_COLORS_OF_CALLS)]
        return {
            "shape": self.dot_graph_shape,
            "fillcolor": color,
            "style": "filled,rounded",
            "fontcolor": "#000000",
        }

    def _label(self, module: GraphModule, node: Node) -> str:
        lines = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            leaf = module.get_submodule(str(node.target))
            lines.append(f"{type(leaf).__module__}.{type(leaf).__name__}")
            lines += [f"{key}: {getattr(leaf, key)}" for key in getattr(leaf, "__constants__", ())]
        else:
            lines.append(f"target={node._pretty_print_target(node.target)}")
            if node.args and not (self._skip_names and node.op == "output"):
                lines.append(f"args={_format_arg(node.args, max_list_len=10)}")
            if node.kwargs:
                lines.append(f"kwargs={_format_arg(node.kwargs, max_list_len=10)}")
        lines.append(f"num_users={len(node.users)}")
        meta = node.meta.get("tensor_meta")
        if isinstance(meta, TensorMetadata):
            lines += [f"dtype={meta.dtype}", f"shape={tuple(meta.shape)}"]
        return "{" + "".join(f"{_escaped(line)}\\n" for line in lines) + "}"


def _escaped(text: str) -> str:
    """The text where braces and bars have a meaning."""
    for letter in "{}|<>":
        text = text.replace(letter, "\\" + letter)
    return text
