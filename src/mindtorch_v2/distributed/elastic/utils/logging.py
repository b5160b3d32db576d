"""Loggers of launchers."""

from __future__ import annotations

import inspect
import logging
import os

from .log_level import get_log_level

__all__ = ["get_logger"]


def get_logger(name: str | None = None) -> logging.Logger:
    """A logger by name, or of the module that asks; it says what LOGLEVEL wants, or warnings."""
    if name is None:
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        name = caller.f_globals.get("__name__") if caller is not None else None
    found = logging.getLogger(name)
    found.setLevel(os.environ.get("LOGLEVEL", get_log_level()))
    return found
