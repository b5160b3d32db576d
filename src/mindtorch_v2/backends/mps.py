"""Apple's GPUs, which are not driven."""


def is_available() -> bool:
    """Whether there is one to use: no."""
    return False


def is_built() -> bool:
    """Whether the library is compiled for them: no."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is at least that macOS: it is none."""
    return False
