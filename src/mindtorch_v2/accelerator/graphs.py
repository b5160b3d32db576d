"""``torch.accelerator.Graph``: captured work of the accelerator of this machine, whichever it is."""

from __future__ import annotations

from typing import Literal

from .._devices import graphs as _graphs
from .._devices import registry
from ._device import require

__all__ = ["Graph"]

Mode = Literal["default", "global", "thread_local", "relaxed"]


class Graph(_graphs.Graph):
    """Work of the accelerator that was captured and can be replayed. ``with stream, graph:`` captures."""

    def __init__(
        self,
        keep_graph: bool = False,
        *,
        pool: tuple[int, int] | None = None,
        capture_error_mode: Mode = "default",
    ) -> None:
        self._module = require()
        self._type = registry.accelerator().type  # type: ignore[misc]  # of this machine, not of the class
        super().__init__(keep_graph)
        self.graph_pool = pool
        self.capture_error_mode: Mode = capture_error_mode

    def capture_begin(self) -> None:  # type: ignore[override]  # what the others take was given when it was made
        """Begins to record the current stream."""
        mode = "global" if self.capture_error_mode == "default" else self.capture_error_mode
        super().capture_begin(self.graph_pool, mode)

    def __enter__(self) -> None:
        _graphs.make_room(self._module)
        self.capture_begin()

    def __exit__(self, *error: object) -> None:
        self.capture_end()
