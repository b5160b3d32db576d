"""Signal processing."""

from . import windows as windows

__all__ = ["windows"]
