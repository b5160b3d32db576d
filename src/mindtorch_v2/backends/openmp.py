"""OpenMP, which is not used: kernels run on threads of our own."""


def is_available() -> bool:
    """Whether OpenMP is used: no."""
    return False
