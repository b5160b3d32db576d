"""Operators as functions, under the name by which copies of PyTorch's recurrent modules call them: ``_VF.lstm``."""

from __future__ import annotations

from typing import Any

from . import _functions


def __getattr__(name: str) -> Any:
    return getattr(_functions, name)
