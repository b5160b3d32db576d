"""Graphs of the NPU: ``torch.npu.NPUGraph``, ``torch.npu.graph``, ``torch.npu.make_graphed_callables``."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from .. import _C
from .._backends.npu import runtime as _runtime
from .._devices import graphs as _graphs
from . import streams as _streams

__all__ = [
    "NPUGraph", "graph", "graph_pool_handle", "graph_task_group_begin", "graph_task_group_end",
    "graph_task_update_begin", "graph_task_update_end", "is_current_stream_capturing", "make_graphed_callables",
]  # fmt: skip

_npu = _C._npu
_NO_DISPATCH = (
    "operators are not recorded with their arguments; put them into a task group (torch.npu.graph_task_group_begin) "
    "and launch them anew in an update of it (torch.npu.graph_task_update_begin)"
)


class NPUGraph(_graphs.Graph):
    """Work of an NPU that was captured and can be replayed. See ``docs/npu.md``."""

    _type = "npu"
    auto_dispatch_capture = False

    def update(self, cpu_update_input: Any) -> None:
        """torch_npu's way to change arguments that operators take from the host; not there."""
        raise NotImplementedError(f"NPUGraph.update(): {_NO_DISPATCH}")


class graph(_graphs.capture):
    """``with torch.npu.graph(g):`` — work inside is captured into ``g``."""

    _type = "npu"
    default_capture_stream: ClassVar[Any] = None

    def __init__(
        self, npu_graph: NPUGraph, pool: Any = None, stream: Any = None, auto_dispatch_capture: bool = False,
        capture_error_mode: str = "global",
    ) -> None:  # fmt: skip
        if auto_dispatch_capture:
            raise NotImplementedError(f"torch.npu.graph(auto_dispatch_capture=True): {_NO_DISPATCH}")
        super().__init__(npu_graph, pool, stream, capture_error_mode)
        self.npu_graph = npu_graph


def graph_pool_handle() -> tuple[int, int]:
    """The id of a new memory pool, for graphs that may share memory."""
    return _graphs.pool_handle()


def is_current_stream_capturing() -> bool:
    """Whether work on this thread's current stream is captured instead of run."""
    if not _npu.is_initialized():
        return False
    index = _npu.current_device()
    return bool(_npu.stream_is_capturing(index, _npu.current_stream(index)))


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Functions or modules whose forward and backward passes replay captured graphs.

    ``sample_args`` are the tensors for the capture, a tuple (of tuples, for a tuple of callables); later arguments have
    their shapes. What a call returns is overwritten by the next call.
    """
    from ..autograd import _graphed  # few programs need it

    device = _graphed.Device("npu", sys.modules[__package__], NPUGraph, graph, graph_pool_handle)
    return _graphed.make_graphed_callables(
        device, callables, sample_args, num_warmup_iters, allow_unused_input, pool
    )


def _handle(stream: Any, function: str) -> int:
    if not isinstance(stream, _streams.Stream):
        raise TypeError(f"torch.npu.{function}() wants a torch.npu.Stream, but got {type(stream).__name__}")
    _runtime.get_runtime(stream.device_index)
    return int(stream.npu_stream)


def graph_task_group_begin(stream: Any) -> None:
    """Operators that are captured on the stream from here to :func:`graph_task_group_end` can be replaced later."""
    _npu.begin_task_group(_handle(stream, "graph_task_group_begin"))


def graph_task_group_end(stream: Any) -> int:
    """Ends a group; returns its handle for :func:`graph_task_update_begin`."""
    return int(_npu.end_task_group(_handle(stream, "graph_task_group_end")))


def graph_task_update_begin(stream: Any, handle: int) -> None:
    """Operators that are launched on the stream (not the captured one) until :func:`graph_task_update_end` take the
    place of the group's: as many, the same ones, with other arguments."""
    _npu.begin_task_update(_handle(stream, "graph_task_update_begin"), handle)


def graph_task_update_end(stream: Any) -> None:
    """Ends an update; replays after it, in the order of the streams, run the new operators."""
    _npu.end_task_update(_handle(stream, "graph_task_update_end"))
