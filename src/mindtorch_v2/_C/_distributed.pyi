# Processes that work together.
from collections.abc import Callable, Sequence

from . import Tensor, device

class _StoreServer:
    """Serves the keys of a TCPStore, in a thread of its own."""

    port: int
    def __init__(self, port: int, listening: int = -1) -> None: ...

class _LaneMark:
    """The end of a work on a stream."""

    def __init__(self, device: device) -> None: ...
    def wait(self, tensors: Sequence[Tensor] = ()) -> None: ...
    def is_complete(self) -> bool: ...
    def synchronize(self) -> None: ...

class _StreamLane:
    """A stream of an accelerator for the works of a group."""

    stream: int
    def __init__(self, device: device) -> None: ...
    def run(
        self, tensors: Sequence[Tensor], enqueue: Callable[[], object], after: _LaneMark | None = None
    ) -> _LaneMark: ...
    def synchronize(self) -> None: ...
