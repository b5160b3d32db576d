"""``torch.compile``: programs that ask for a compiler run eagerly, and are told so once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

_told = False


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """The function or module itself: there is no compiler here. Warns once, unless it is ``disable=True``."""
    global _told
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if not disable and not _told:
        _told = True
        warnings.warn(
            "torch.compile: this library has no compiler, so compiled functions and modules run eagerly.",
            stacklevel=2,
        )
    if model is None:
        return lambda function: function
    if not callable(model):
        raise RuntimeError(f"torch.compile: wanted a function or a module, got {type(model).__name__}")
    return model
