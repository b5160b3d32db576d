"""Tensors that a module owns, and those whose shape is not known yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._parameter import Buffer, Parameter, is_lazy
from ._parameter import _BufferMeta as _BufferMeta
from ._parameter import _ParameterMeta as _ParameterMeta

if TYPE_CHECKING:
    from ._uninitialized import UninitializedBuffer as UninitializedBuffer
    from ._uninitialized import UninitializedParameter as UninitializedParameter
    from ._uninitialized import UninitializedTensorMixin as UninitializedTensorMixin

__all__ = ["Buffer", "Parameter", "is_lazy"]


def __getattr__(name: str) -> Any:
    # See Note [Why these are loaded late].
    if name in ("UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin"):
        from . import _uninitialized

        return getattr(_uninitialized, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
