"""Warnings that are given once in a process, unless ``set_warn_always`` asks for all of them."""

from __future__ import annotations

import sys
import warnings

from .. import _C

_PACKAGE = __name__.partition(".")[0]
_given: set[str] = set()


def warn_once(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns whoever called this package, through whatever wraps its functions."""
    if text in _given and not _C._is_warn_always():
        return
    _given.add(text)
    warnings.warn(text, category, stacklevel=1 + frames_inside())


def frames_inside() -> int:
    """How many frames above the caller belong to this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    return level - 1
