"""Graphs of a device: what streams were given once, recorded, to be given to the device again with one call.

A device's module derives :class:`Graph` and :class:`capture` from these, with its ``_type`` (as in ``torch.device``).
What a graph holds, and how, is in Note [What a graph holds] in ``csrc/devices/device_graph.h``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from .. import _C
from . import pools, registry

PoolHandle = tuple[int, int]


def pool_handle() -> PoolHandle:
    """The id of a new memory pool, for graphs that may share memory."""
    return (0, next(pools.pool_numbers))


def _number_of(pool: Any) -> int:
    if pool is None:
        return pool_handle()[1]
    wanted = (
        isinstance(pool, (tuple, list)) and len(pool) == 2 and all(isinstance(part, int) for part in pool)
    )
    if not wanted or pool[0] != 0 or pool[1] <= 0:
        raise TypeError(
            f"pool is what graph_pool_handle(), a graph's pool() or a MemPool's id returned, but got {pool!r}"
        )
    return int(pool[1])


class Graph:
    """Work of a device that was captured and can be replayed.

    Between ``capture_begin`` and ``capture_end`` what is enqueued on the current stream is recorded and not run. Each
    ``replay`` runs it, at the same addresses: new inputs are copied into the tensors that the capture read, and results
    are read from those it wrote.
    """

    _type: ClassVar[str]

    def __init__(self, keep_graph: bool = False) -> None:
        self._keep_graph = bool(keep_graph)
        self._pool: int | None = None
        self._native = _C._DeviceGraph(self._type)

    def register_generator_state(self, generator: Any) -> None:
        """Lets captured operators draw from a generator; the device's default one needs no registration."""
        self._native.add_generator(generator)

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        """Begins to record the current stream. The graph's memory comes from ``pool``, or from a pool of its own.

        ``capture_error_mode``: "global" refuses what cannot be captured in all threads, "thread_local" in this one,
        "relaxed" only where it concerns the stream.
        """
        if check_input_liveness:
            raise NotImplementedError(
                "check_input_liveness=True: whether the tensors that a graph reads are still there is not watched; "
                "keep them for as long as the graph"
            )
        number = _number_of(pool)
        self._native.begin(number, capture_error_mode)
        self._pool = number

    def capture_end(self) -> None:
        """Ends the capture on the stream that began it; the graph can be replayed now."""
        try:
            self._native.end()
        finally:
            if not (self._native.is_complete or self._native.is_capturing):
                self._pool = None

    def instantiate(self) -> None:
        """Makes the graph ready, which its capture has done already."""
        if not self._keep_graph:
            raise RuntimeError(
                "instantiate() is intended to be called by the user only when keep_graph=True; the end of a capture "
                "does it"
            )
        if not self._native.is_complete:
            raise RuntimeError("instantiate(): there is no graph; capture one first")

    def replay(self) -> None:
        """Enqueues the work of the graph on the current stream."""
        self._native.replay()

    def reset(self) -> None:
        """Lets go of the graph and its memory; another one can be captured then."""
        self._native.reset()
        self._pool = None

    def pool(self) -> PoolHandle:
        """The id of the graph's memory pool, for another graph's ``capture_begin``."""
        if self._pool is None:
            raise RuntimeError(
                f"Called {type(self).__name__}::pool() without a preceding successful capture."
            )
        return (0, self._pool)

    def enable_debug_mode(self) -> None:
        """Nothing: every graph can be written with :meth:`debug_dump`."""

    def debug_dump(self, debug_path: str) -> None:
        """Writes what the graph does to a file: JSON for chrome://tracing."""
        self._native.describe(str(debug_path))


def make_room(module: Any) -> None:
    """Before a capture: what is enqueued is done, and memory that nobody uses is there for the graph's pool."""
    module.synchronize()
    module.empty_cache()
    module.host_empty_cache()


class capture:
    """``with torch.<device>.graph(g):`` — work inside is captured into ``g``, on a stream made for it or ``stream``."""

    _type: ClassVar[str]
    default_capture_stream: ClassVar[Any] = None

    def __init__(
        self, graph: Graph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"
    ) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"graph() wants a graph to capture into, but got {type(graph).__name__}")
        module = registry.accelerators[self._type].module
        if stream is None:
            if type(self).default_capture_stream is None:
                type(self).default_capture_stream = module.Stream()
            stream = type(self).default_capture_stream
        self.pool = pool
        self.capture_stream = stream
        self.stream_ctx = module.stream(stream)
        self.capture_error_mode = capture_error_mode
        self._module, self._graph = module, graph

    def __enter__(self) -> None:
        make_room(self._module)
        self.stream_ctx.__enter__()
        try:
            self._begin()
        except BaseException:
            self.stream_ctx.__exit__()
            raise

    def _begin(self) -> None:
        self._graph.capture_begin(self.pool, self.capture_error_mode)

    def __exit__(self, *error: object) -> None:
        try:
            self._graph.capture_end()
        finally:
            self.stream_ctx.__exit__(*error)
