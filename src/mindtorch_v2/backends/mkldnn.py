"""Intel's oneDNN, which is not used: the kernels are our own."""

enabled = False


def is_available() -> bool:
    """Whether oneDNN is used: no."""
    return False
