"""Intel's MKL, which is not used: matrices go to our kernels and OpenBLAS."""


def is_available() -> bool:
    """Whether MKL is used: no."""
    return False
