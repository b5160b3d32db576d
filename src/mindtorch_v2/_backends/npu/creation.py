"""Host tensors in memory that the NPU copies from without the host waiting."""

from __future__ import annotations

from typing import Any

from ... import _C


def pin_memory(tensor: _C.Tensor) -> _C.Tensor:
    """A copy of a CPU tensor in pinned memory; the tensor itself if it is there already."""
    return _C._npu.pin_memory(tensor)


def is_pinned(tensor: Any) -> bool:
    """Whether a tensor lies in pinned host memory."""
    return bool(_C._npu.is_pinned(tensor))
