"""Host tensors in memory that the NPU copies from without the host waiting."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._devices import pinned


def pin_memory(tensor: _C.Tensor) -> _C.Tensor:
    """A copy of a CPU tensor in pinned memory; itself if it is there already."""
    made: _C.Tensor = pinned.pin_memory(_C._npu, tensor)
    return made


def is_pinned(tensor: Any) -> bool:
    """Whether a tensor lies in pinned host memory."""
    return bool(_C._npu.is_pinned(tensor))
