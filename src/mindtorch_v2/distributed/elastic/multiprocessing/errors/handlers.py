"""Which handler a process has."""

from .error_handler import ErrorHandler

__all__ = ["get_error_handler"]


def get_error_handler() -> ErrorHandler:
    """The handler of this process."""
    return ErrorHandler()
