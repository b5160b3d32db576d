"""Whether nn.MultiheadAttention and the Transformer layers may take a shorter path in inference. They have only one."""

_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether the shorter path is allowed."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Allows or forbids the shorter path."""
    global _enabled
    _enabled = value
