"""The package opt_einsum, which einsum does not use: it contracts from left to right."""

enabled = False
strategy = None


def is_available() -> bool:
    """Whether opt_einsum is used: no."""
    return False
