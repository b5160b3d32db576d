"""What PyTorch promises of a name of torch.fx, as a mark on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

_BACK_COMPAT_OBJECTS: dict[object, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[object, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """A decorator: notes whether later versions keep the name as it is."""

    def decorate(marked: _T) -> _T:
        _MARKED_WITH_COMPATIBILITY.setdefault(marked)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(marked)
        return marked

    return decorate
