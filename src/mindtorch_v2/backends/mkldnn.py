"""Intel's oneDNN, which is not used: the kernels are our own."""

from .._absent import names_of

enabled = False


def is_available() -> bool:
    """Whether oneDNN is used: no."""
    return False


__getattr__ = names_of(__name__)
