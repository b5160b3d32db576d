"""Memory shared with other libraries through DLPack."""

from __future__ import annotations

from typing import Any

from .. import _C
from .._C import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule for libraries that take one; newer ones take the tensor itself."""
    return _C._to_dlpack(tensor, False)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of ``ext_tensor``: an object with ``__dlpack__``, or a capsule."""
    if not hasattr(ext_tensor, "__dlpack__"):
        if copy is not None or device is not None:
            raise ValueError("from_dlpack: device and copy need an object with __dlpack__, not a capsule")
        return _C._from_dlpack(ext_tensor)
    try:
        capsule = ext_tensor.__dlpack__(max_version=(1, 0))
    except TypeError:  # an older library, which does not know the argument
        capsule = ext_tensor.__dlpack__()
    made = _C._from_dlpack(capsule)
    if device is not None and made.device != _C.device(device):
        if copy is False:
            raise ValueError(f"from_dlpack: cannot move from {made.device} to {device} with copy=False")
        return made.to(device)
    return made.clone() if copy else made
