"""torch.utils.deterministic: what deterministic mode does beside choosing kernels."""

from __future__ import annotations

import sys
from types import ModuleType

from .. import _C


class _Settings(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether deterministic mode fills new memory with NaN, or the largest integer."""
        return _C._get_deterministic_fill_uninitialized_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        _C._set_deterministic_fill_uninitialized_memory(mode)


sys.modules[__name__].__class__ = _Settings
