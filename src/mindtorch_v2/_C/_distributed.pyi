# Processes that work together.
class _StoreServer:
    """Serves the keys of a TCPStore, in a thread of its own."""

    port: int
    def __init__(self, port: int, listening: int = -1) -> None: ...
