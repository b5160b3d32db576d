"""Graphs of networks that only predict: batch norms go into the layers before them, dropout goes away."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import mindtorch_v2 as torch

from ...nn.utils.fusion import fuse_conv_bn_eval
from .._symbolic_trace import symbolic_trace
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]

_PATTERNS = (
    (torch.nn.Conv1d, torch.nn.BatchNorm1d),
    (torch.nn.Conv2d, torch.nn.BatchNorm2d),
    (torch.nn.Conv3d, torch.nn.BatchNorm3d),
)


def _parent_name(target: str) -> tuple[str, str]:
    """The path of the module around, and the last part."""
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, Any]) -> bool:
    """Whether a node and its first argument call modules of just these classes."""
    if not node.args or not isinstance(node.args[0], Node):
        return False
    for kind, called in zip(pattern, (node.args[0], node), strict=True):
        if called.op != "call_module" or type(modules.get(str(called.target))) is not kind:
            return False
    return True


def replace_node_module(node: Node, modules: dict[str, Any], new_module: torch.nn.Module) -> None:
    """Puts another module where the one stands that a node calls."""
    parent, name = _parent_name(str(node.target))
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: torch.nn.Module, inplace: bool = False, no_trace: bool = False) -> torch.nn.Module:
    """The model with batch norms in eval mode multiplied into the convolutions before them."""
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern in _PATTERNS:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue
            norm = modules[str(node.target)]
            if not norm.track_running_stats:
                continue
            replace_node_module(
                node.args[0], modules, fuse_conv_bn_eval(modules[str(node.args[0].target)], norm)
            )
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model: torch.nn.Module) -> torch.nn.Module:
    """The model without its dropout layers."""
    traced = symbolic_trace(model)
    modules = dict(traced.named_modules())
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(modules[str(node.target)], torch.nn.Dropout):
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    traced.recompile()
    return traced
