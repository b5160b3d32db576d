"""The file ``.metadata``: written as PyTorch reads it; read without calling anything but what describes tensors."""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from ..._C import dtype
from ..._serialization import restricted
from ..._serialization.names import pickler_class
from . import metadata as known
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorStorageMetadata,
)

_PROTOCOL = 4  # what PyTorch's file has
_PLACE = "torch.distributed.checkpoint"
_KINDS = (TensorStorageMetadata, BytesStorageMetadata)


@dataclass
class _StorageInfo:
    """Where something lies: a file of the folder, and which of its bytes."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


_StorageInfo.__module__ = f"{__package__}.filesystem"  # where PyTorch has it, and files name it


def written(metadata: Metadata) -> bytes:
    """The contents of the file."""
    buffer = io.BytesIO()
    pickler_class(pickle)(buffer, protocol=_PROTOCOL).dump(metadata)
    return buffer.getvalue()


@cache
def _allowed() -> dict[str, Any]:
    """What the file may name."""
    of_tensors = restricted.allowed_by_default()
    allowed: dict[str, Any] = {name: value for name, value in of_tensors.items() if isinstance(value, dtype)}
    for name in ("torch.Size", "torch.serialization._get_layout", "collections.OrderedDict"):
        allowed[name] = of_tensors[name]
    for name in (*known.__all__, "_MEM_FORMAT_ENCODING"):
        allowed[f"{_PLACE}.metadata.{name}"] = getattr(known, name)
    allowed[f"{_PLACE}.filesystem._StorageInfo"] = _StorageInfo
    older = "torch.distributed._shard.sharded_tensor.metadata"  # where PyTorch 2.3 and before had them
    allowed[f"{older}.TensorProperties"] = known.TensorProperties
    allowed[f"{older}.MEM_FORMAT_ENCODING"] = known._MEM_FORMAT_ENCODING
    for module in ("pathlib", "pathlib._local"):  # where Python 3.13 has it
        for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"):
            allowed[f"{module}.{name}"] = PurePosixPath
    return allowed


def read(path: str, data: bytes) -> Metadata:
    """What the file says; ``path`` is for messages."""
    try:
        found = restricted.load(io.BytesIO(data), allowed=_allowed())
    except (pickle.UnpicklingError, EOFError) as error:
        raise pickle.UnpicklingError(
            f"{path} was not written by a checkpoint of tensors, or is damaged: {error}. Nothing that it names beside "
            "what describes tensors is called; declare a planner's own classes with torch.serialization."
            "add_safe_globals if you trust the file"
        ) from None
    why = _wrong(found)
    if why:
        raise RuntimeError(f"{path} is damaged: {why}")
    return found  # type: ignore[no-any-return]


def _wrong(found: Any) -> str:
    """What contradicts itself, or nothing."""
    if not isinstance(found, Metadata):
        return f"it holds {type(found).__name__} instead of Metadata"
    names, places = getattr(found, "state_dict_metadata", None), getattr(found, "storage_data", None)
    if not isinstance(names, dict) or not isinstance(places, (dict, type(None))):
        return "its tables are no dicts"
    for name, saved in names.items():
        if not isinstance(name, str) or not isinstance(saved, _KINDS):
            return f"{name!r:.100} is {type(saved).__name__}"
        if isinstance(saved, TensorStorageMetadata) and not _is_tensor(saved):
            return f"the parts of {name!r:.100} are no boxes of its shape"
    for index, place in (places or {}).items():
        if not isinstance(index, MetadataIndex):
            return f"a place belongs to {type(index).__name__}"
        if isinstance(place, _StorageInfo) and (why := _wrong_place(place)):
            return f"{index.fqn!r:.100} lies {why}"
    return ""


def _is_tensor(saved: TensorStorageMetadata) -> bool:
    held = vars(saved)
    if not {"size", "chunks", "properties"} <= held.keys() or not isinstance(saved.chunks, list):
        return False
    if not isinstance(getattr(saved.properties, "dtype", None), dtype) or not _are_counts(saved.size):
        return False
    return all(
        isinstance(chunk, ChunkStorageMetadata)
        and {"offsets", "sizes"} <= vars(chunk).keys()
        and _are_counts(chunk.offsets)
        and _are_counts(chunk.sizes)
        and len(chunk.offsets) == len(chunk.sizes) == len(saved.size)
        for chunk in saved.chunks
    )


def _are_counts(values: Any) -> bool:
    return isinstance(values, (tuple, list)) and all(type(each) is int and each >= 0 for each in values)


def _wrong_place(place: _StorageInfo) -> str:
    held = vars(place)
    path = held.get("relative_path")
    if not _are_counts([held.get("offset"), held.get("length")]):
        return f"at {held.get('offset')!r:.40}, {held.get('length')!r:.40} bytes long"
    if not isinstance(path, str) or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        return f"outside the folder, in {path!r:.100}"
    return ""
