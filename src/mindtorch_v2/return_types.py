"""The named tuples that operators with several results return: ``torch.return_types.max``."""

from __future__ import annotations

from . import _C

__all__ = _C._return_type_names()


def __getattr__(name: str) -> type:
    if name not in __all__:
        raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'")
    return _C._return_type(name)


def __dir__() -> list[str]:
    return sorted(__all__)
