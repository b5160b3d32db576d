"""Marks for an exporter of graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._absent import names_of


def mark_subclass_constructor_exportable_experimental(constructor: Callable[..., Any]) -> Callable[..., Any]:
    """Marks the constructor of a tensor subclass for an exporter; it is called as it is."""
    if constructor.__name__ not in ("__init__", "__new__"):
        raise RuntimeError(
            f"torch._export.wrappers.mark_constructor_exportable can only be applied on subclass tensor.__init__ but "
            f"got: {constructor.__name__}"
        )
    return constructor


__getattr__ = names_of(__name__)
