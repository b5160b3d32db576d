"""Fake tensors of a graph's values, by running it on them."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from ..._subclasses.fake_tensor import FakeTensorMode
from .._compatibility import compatibility
from ..experimental.proxy_tensor import extract_val
from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node
from .shape_prop import note_tensors

__all__ = ["FakeTensorProp"]


@compatibility(is_backward_compatible=False)
class FakeTensorProp(Interpreter):
    """Runs the graph on fake tensors and writes into each node's ``meta["val"]`` what its value is."""

    def __init__(self, module: GraphModule, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode(allow_non_fake_inputs=True) if mode is None else mode

    def run_node(self, n: Node) -> Any:
        """The node's value, described in its ``meta``."""
        result = super().run_node(n)
        note_tensors(n, "val", result, extract_val)
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs the graph on fake tensors like these, and returns its result."""
        fake = [self._mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in args]
        return self.propagate_dont_convert_inputs(*fake)

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """The same for inputs that are fake already."""
        with self._mode:
            return super().run(*args)
