"""A model cut into the stages of a pipeline."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ... import nn
from ...fx import Graph, GraphModule, Node
from ...fx.node import map_arg
from ..process_group import ProcessGroup
from ._exchange import Routes
from ._tracing import SplitPoint, pipe_split, traced
from .stage import _PipelineStage, build_stage

__all__ = ["Pipe", "PipeInfo", "SplitPoint", "pipe_split", "pipeline"]


@dataclass
class PipeInfo:
    """What a stage must know of the others."""

    graph: Graph
    num_stages: int
    has_loss_and_backward: bool
    routes: Routes


@dataclass
class _Cut:
    """A stage in the making: its nodes, what it takes of others by their index, and what it gives."""

    nodes: list[Node]
    inputs: list[Node]
    outputs: list[Node]


class Pipe(nn.Module):
    """A model in stages; called, it runs them one after the other in this process."""

    def __init__(
        self,
        split_gm: GraphModule,
        num_stages: int,
        has_loss_and_backward: bool,
        loss_spec: Any,
        routes: Routes | None = None,
    ) -> None:
        super().__init__()
        self.split_gm, self.num_stages = split_gm, num_stages
        self.has_loss_and_backward, self.loss_spec = has_loss_and_backward, loss_spec
        self.routes: Routes = [] if routes is None else routes
        self.replicated_params = self._find_replicated()

    def _find_replicated(self) -> list[dict[str, str]]:
        """Parameters that several stages have: for each, its name in these."""
        places: dict[Any, dict[str, str]] = {}
        for stage in range(self.num_stages):
            part = self.get_stage_module(stage)
            for name, parameter in part.named_parameters(remove_duplicate=False):
                places.setdefault(parameter, {}).setdefault(f"submod_pp_{stage}", name)
        return [each for each in places.values() if len(each) > 1]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.split_gm(*args, **kwargs)

    def get_stage_module(self, stage_idx: int) -> nn.Module:
        """The part of a stage."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return self.split_gm.get_submodule(f"submod_pp_{stage_idx}")

    def info(self) -> PipeInfo:
        """What :func:`build_stage` wants to know."""
        return PipeInfo(self.split_gm.graph, self.num_stages, self.has_loss_and_backward, self.routes)

    def build_stage(self, stage_index: int, device: Any, group: ProcessGroup | None = None) -> _PipelineStage:
        """A stage that schedules can run."""
        return build_stage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)

    def print_readable(self) -> None:
        """Shows the stages' code."""
        self.split_gm.print_readable()

    def __str__(self) -> str:
        return str(self.split_gm)

    def __repr__(self) -> str:
        return repr(self.split_gm)


def pipeline(
    module: nn.Module,
    mb_args: tuple[Any, ...],
    mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[[GraphModule], GraphModule] | None = None,
) -> Pipe:
    """Cuts a model where ``split_spec`` says, or where its forward calls ``pipe_split``; ``mb_args`` are an example of
    a microbatch. ``split_policy`` gets the graph and puts calls of ``pipe_split`` into it.

    Note [Tracing for stages].
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError("Cannot specify both `split_spec` and `split_policy`. Please use only one of them.")
    points = split_spec or {}
    for path, point in points.items():
        module.get_submodule(path)
        if not isinstance(point, SplitPoint):
            raise ValueError("Unknown split point type.")
    graph = traced(module, mb_args, mb_kwargs or {}, points)
    if split_policy is not None:
        graph = split_policy(graph)
    return _cut(module, graph)


def _cut(module: nn.Module, whole: GraphModule) -> Pipe:
    """Note [What passes between stages]
    Inputs of the model belong to the first stage, which passes on what later ones need, and the result belongs to the
    last. A value goes from the stage that computes it to each that uses it, not through those between. What is read
    from the model, parameters and tensors, every stage that uses it has for itself.
    """
    home: dict[Node, int] = {}
    cuts = [_Cut([], [], [])]
    for node in whole.graph.nodes:
        if node.op == "call_function" and node.target is pipe_split:
            if any(each.op.startswith("call") for each in cuts[-1].nodes):
                cuts.append(_Cut([], [], []))
        elif node.op == "placeholder":
            home[node] = 0
        elif node.op not in ("get_attr", "output"):
            home[node] = len(cuts) - 1
            cuts[-1].nodes.append(node)
    if len(cuts) > 1 and not cuts[-1].nodes:
        cuts.pop()
    result = whole.graph.output_node()
    home[result] = len(cuts) - 1
    cuts[-1].nodes.append(result)
    _find_passing(cuts, home)
    routes: Routes = []
    for stage, cut in enumerate(cuts):
        taken = {
            other: [cut.outputs.index(node) for node in later.inputs if home[node] == stage]
            for other, later in enumerate(cuts)
            if other > stage and any(home[node] == stage for node in later.inputs)
        }
        routes.append({other: list(which) for other, which in taken.items()})
    inputs = [node for node in whole.graph.nodes if node.op == "placeholder"]
    parts = {
        f"submod_pp_{stage}": _part(whole, cut, inputs if stage == 0 else cut.inputs)
        for stage, cut in enumerate(cuts)
    }
    pipe = Pipe(_outer(parts, cuts, inputs), len(cuts), False, None, routes)
    pipe.train(module.training)
    for places in pipe.replicated_params:
        warnings.warn(
            f"several stages have one parameter ({', '.join(f'{k}.{v}' for k, v in places.items())}): each process "
            "trains its own copy. Add their gradients up after each step, or untie them",
            stacklevel=3,
        )
    return pipe


def _find_passing(cuts: list[_Cut], home: dict[Node, int]) -> None:
    for stage, cut in enumerate(cuts):
        for node in cut.nodes:
            for source in node.all_input_nodes:
                if home.get(source, stage) != stage and source not in cut.inputs:
                    cut.inputs.append(source)
                    if source not in cuts[home[source]].outputs:
                        cuts[home[source]].outputs.append(source)
        cut.inputs.sort(key=lambda node: home[node])  # as they are received: the first stage's first


def _part(whole: GraphModule, cut: _Cut, inputs: list[Node]) -> GraphModule:
    """The module of a stage, whose parameters keep their names."""
    graph = Graph()
    known: dict[Node, Node] = {}
    for node in inputs:
        known[node] = graph.placeholder(node.name)

    def copied(node: Node) -> Node:
        if node.op == "get_attr" and node not in known:
            known[node] = graph.node_copy(node)
        return known[node]

    for node in cut.nodes:
        if node.op == "output":
            graph.output(map_arg(node.args[0], copied))
            break
        known[node] = graph.node_copy(node, copied)
    else:
        outputs = tuple(known[node] for node in cut.outputs)
        graph.output(outputs[0] if len(outputs) == 1 else outputs)
    made = GraphModule(whole, graph)
    for name, _ in made.named_buffers():
        if name.startswith("_tensor_constant"):  # forward made it: no part of the model's state
            made._non_persistent_buffers_set.add(name)
    return made


def _outer(parts: dict[str, GraphModule], cuts: list[_Cut], inputs: list[Node]) -> GraphModule:
    graph = Graph()
    known: dict[Node, Any] = {node: graph.placeholder(node.name) for node in inputs}
    for (name, _), cut in zip(parts.items(), cuts, strict=True):
        taken = inputs if cut is cuts[0] else cut.inputs
        called = graph.call_module(name, tuple(known[node] for node in taken))
        if cut is cuts[-1]:
            graph.output(called)
        elif len(cut.outputs) == 1:
            known[cut.outputs[0]] = called
        else:
            for index, node in enumerate(cut.outputs):
                known[node] = graph.call_function(operator.getitem, (called, index))
    return GraphModule(parts, graph)
