"""A pass: something that is done with a graph module."""

from __future__ import annotations

import abc
from collections import namedtuple

from ..._compatibility import compatibility
from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


@compatibility(is_backward_compatible=False)
class PassResult(namedtuple("PassResult", ["graph_module", "modified"])):
    """What a pass gives: the module, and whether it is another than before."""

    __slots__ = ()


@compatibility(is_backward_compatible=False)
class PassBase(abc.ABC):
    """Derive from it and write ``call``; ``requires`` and ``ensures`` check before and after."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Does it."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 - may be left as it is
        """Raises if the module is not fit for the pass."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raises if the pass left something undone."""
