"""Host tensors in memory that a device copies from without the host waiting."""

from __future__ import annotations

from typing import Any

from .. import _C


def pin_memory(native: Any, tensor: _C.Tensor) -> Any:
    """A copy of a CPU tensor in pinned memory of a device (``native`` has its functions), in the same order of
    dimensions; itself if it is there already."""
    if tensor.requires_grad and not native.is_pinned(tensor) and _C.is_grad_enabled():
        return _pinned(native, tensor.detach()).copy_(tensor)
    return _pinned(native, tensor)


def _pinned(native: Any, tensor: _C.Tensor) -> Any:
    if tensor.is_contiguous():
        return native.pin_memory(tensor)
    strides = tensor.stride()
    outermost_first = sorted(range(tensor.dim()), key=lambda dim: -strides[dim])
    back = sorted(range(tensor.dim()), key=outermost_first.__getitem__)
    return native.pin_memory(tensor.permute(outermost_first)).permute(back)
