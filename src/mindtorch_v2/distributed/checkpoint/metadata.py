"""What a checkpoint says of itself: which tensors it has, in which parts, and where each part lies.

PyTorch reads and writes these objects under the same names, as a pickle in the file ``.metadata``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ... import _C
from ..._absent import names_of
from ..._C import Tensor
from ..._types.formats import strided
from ..._types.size import Size
from .stateful import StatefulT

__all__ = [
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta", "TensorProperties",
    "TensorStorageMetadata",
]  # fmt: skip


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor: where it begins, and its shape."""

    offsets: Any
    sizes: Any


class _MEM_FORMAT_ENCODING(Enum):
    """Memory formats as they are written."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


_MEMORY_FORMATS = {
    _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT: _C.contiguous_format,
    _MEM_FORMAT_ENCODING.TORCH_CHANNELS_LAST: _C.channels_last,
    _MEM_FORMAT_ENCODING.TORCH_PRESERVE_FORMAT: _C.preserve_format,
}


@dataclass
class TensorProperties:
    """What is known of a tensor beside its values."""

    dtype: Any = field(default_factory=_C.get_default_dtype)
    layout: Any = strided
    requires_grad: bool = False
    memory_format: Any = _C.contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        written = next((key for key, value in _MEMORY_FORMATS.items() if value == self.memory_format), None)
        if written is None:
            raise RuntimeError(f"Invalid torch.memory_format: {self.memory_format}")
        return self.dtype, self.layout, self.requires_grad, written, self.pin_memory

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, written, self.pin_memory = state
        self.memory_format = _MEMORY_FORMATS[written]

    @staticmethod
    def create_from_tensor(tensor: Tensor) -> TensorProperties:
        """Those of a tensor."""
        return TensorProperties(
            dtype=tensor.dtype,
            layout=tensor.layout,
            requires_grad=tensor.requires_grad,
            memory_format=_C.contiguous_format,
            pin_memory=tensor.is_pinned(),
        )


@dataclass
class TensorStorageMetadata:
    """A tensor, and the parts in which it was saved."""

    properties: TensorProperties
    size: Any
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Something that is no tensor."""


STORAGE_TYPES = TensorStorageMetadata | BytesStorageMetadata
STATE_DICT_TYPE = dict[str, StatefulT | Any]


@dataclass
class StorageMeta:
    """Which checkpoint this is."""

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """All of it: by name what was saved; for the planner and the storage, how to find it again."""

    state_dict_metadata: dict[str, STORAGE_TYPES]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """One thing that was saved: its name and, of a tensor, where the part begins; ``index`` is a hint only."""

    fqn: str
    offset: Any = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "offset", None if offset is None else Size(offset))
        object.__setattr__(self, "index", index)


__getattr__ = names_of(__name__)
