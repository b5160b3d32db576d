"""How functions become methods of Tensor, whose type is native."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._C import Tensor


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function a method of Tensor."""
    setattr(Tensor, function.__name__, function)
    return function
