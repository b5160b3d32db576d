"""Shapes of a graph's values, by running it."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import mindtorch_v2 as torch

from .._compatibility import compatibility
from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


@compatibility(is_backward_compatible=True)
class TensorMetadata(NamedTuple):
    """What a tensor is, without its values."""

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: torch.memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


_FORMATS = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)


def _extract_tensor_metadata(result: torch.Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """What a tensor is; quantized ones are not of this library."""
    found = None
    if include_contiguity:
        dims = {torch.channels_last: 4, torch.channels_last_3d: 5}
        fitting = (kind for kind in _FORMATS if dims.get(kind, result.dim()) == result.dim())
        found = next((kind for kind in fitting if result.is_contiguous(memory_format=kind)), None)
    return TensorMetadata(
        result.shape,
        result.dtype,
        result.requires_grad,
        result.stride(),
        found,
        is_quantized=False,
        qparams={},
    )


def note_tensors(node: Node, key: str, result: Any, describe: Callable[[torch.Tensor], Any]) -> None:
    """Keeps in ``node.meta`` what describes the tensors of a result; nothing if it has none."""
    found = False

    def described(value: Any) -> Any:
        nonlocal found
        if isinstance(value, torch.Tensor):
            found = True
            return describe(value)
        return value

    noted = map_aggregate(result, described)
    if found:
        node.meta[key] = noted


@compatibility(is_backward_compatible=True)
class ShapeProp(Interpreter):
    """Runs the graph and writes into each node's ``meta`` what its value is: ``tensor_meta`` and ``type``."""

    def __init__(self, gm: GraphModule, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.fake_mode = torch._guards.detect_fake_mode() if fake_mode is None else fake_mode
        self.fake_module = None
        if self.fake_mode is not None:
            # The graph's own tensors stay as they are; it runs on a copy whose tensors have no values.
            from ..._subclasses.fake_tensor import FakeCopyMode

            with FakeCopyMode(self.fake_mode):
                self.fake_module = copy.deepcopy(self.module)
        self.real_module = self.module

    def run_node(self, n: Node) -> Any:
        """The node's value, described in its ``meta``."""
        try:
            if self.fake_module is not None:
                self.module = self.fake_module
            try:
                with nullcontext() if self.fake_mode is None else self.fake_mode:
                    result = super().run_node(n)
            finally:
                self.module = self.real_module
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        note_tensors(n, "tensor_meta", result, _extract_tensor_metadata)
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs the graph on these inputs and returns its result."""
        if self.fake_mode is not None:
            args = tuple(self.fake_mode.from_tensor(t) if isinstance(t, torch.Tensor) else t for t in args)
        return super().run(*args)
