"""The class of compiled modules, of which there are none: ``isinstance`` says so."""

from __future__ import annotations

from typing import Any

from .._absent import names_of
from ..nn import Module


class OptimizedModule(Module):
    """What ``torch.compile`` makes of a module in PyTorch. Here it returns the module itself."""

    _orig_mod: Module

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "there is no compiler here: torch.compile(module) returns the module itself"
        )


__getattr__ = names_of(__name__)
