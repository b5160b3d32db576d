"""Which class traced programs become. PyTorch may put off writing their code; here it is written at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .graph_module import GraphModule

_LazyGraphModule = GraphModule


def _make_graph_module(
    *args: Any, graph_module_cls: type[GraphModule] | None = None, **kwargs: Any
) -> GraphModule:
    return (graph_module_cls or GraphModule)(*args, **kwargs)


@contextmanager
def _use_lazy_graph_module(should_use: bool) -> Iterator[None]:
    """Changes nothing: code is written when a graph is set."""
    yield
