"""Host tensors in memory that the NPU copies from without the host waiting."""

from __future__ import annotations

from typing import Any

from ... import _C


def pin_memory(tensor: _C.Tensor) -> _C.Tensor:
    """A copy of a CPU tensor in pinned memory, in the same order of dimensions; itself if it is there already."""
    if tensor.requires_grad and not is_pinned(tensor) and _C.is_grad_enabled():
        return _pinned(tensor.detach()).copy_(tensor)
    return _pinned(tensor)


def _pinned(tensor: _C.Tensor) -> _C.Tensor:
    if tensor.is_contiguous():
        return _C._npu.pin_memory(tensor)
    strides = tensor.stride()
    outermost_first = sorted(range(tensor.dim()), key=lambda dim: -strides[dim])
    back = sorted(range(tensor.dim()), key=outermost_first.__getitem__)
    return _C._npu.pin_memory(tensor.permute(outermost_first)).permute(back)


def is_pinned(tensor: Any) -> bool:
    """Whether a tensor lies in pinned host memory."""
    return bool(_C._npu.is_pinned(tensor))
