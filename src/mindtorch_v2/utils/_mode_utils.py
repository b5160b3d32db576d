"""``torch.utils._mode_utils``: operators without those who take them over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _C


def no_dispatch() -> Any:
    """Inside, no mode and no class takes operators over."""
    return _C._DisableTorchDispatch()


def all_same_mode(modes: Iterable[Any]) -> bool:
    """Whether all are one and the same."""
    return len({id(mode) for mode in modes}) <= 1
