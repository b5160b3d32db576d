"""Items of plans: of which parts a tensor consists, and which saved parts a part is made of.

Note [Parts]
Of a DTensor a process holds one box: where it begins in the whole tensor, and its shape. A plain tensor is one box that
begins at zero. A checkpoint lists the boxes that were saved, and a target box is filled with its intersections with
them, so that a tensor may be saved in one cut and loaded in any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._absent import names_of
from ..._C import Tensor, _functions
from ..._types.formats import strided
from ..._types.size import Size
from ..tensor._api import DTensor
from ..tensor._redistribute import local_shape_and_offset
from ..tensor.placement_types import Partial
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import LoadItemType, ReadItem, TensorWriteData, WriteItem, WriteItemType

__all__ = ["create_read_items_for_chunk_list"]


def local_part(tensor: Tensor) -> Tensor:
    """The memory of this process that holds a tensor, or its part of it."""
    local = tensor._local_tensor if isinstance(tensor, DTensor) else tensor
    return local.detach()


def own_chunk(name: str, tensor: Tensor) -> ChunkStorageMetadata | None:
    """Which box of a tensor this process holds; None: nothing of it. Note [Parts]."""
    if not isinstance(tensor, DTensor):
        return ChunkStorageMetadata(Size([0] * tensor.dim()), Size(tensor.shape))
    for placement in tensor.placements:
        if isinstance(placement, Partial):
            raise ValueError(
                f"{name} is a sum that is still to be made ({tensor.placements}), and no part of it is a part of the "
                "tensor; redistribute it to Shard(dim) or Replicate() first"
            )
    if tensor.device_mesh.get_coordinate() is None:
        return None
    sizes, offsets = local_shape_and_offset(tensor.shape, tensor.device_mesh, tensor.placements)
    held = tuple(tensor._local_tensor.shape)
    if held != tuple(sizes):
        raise ValueError(
            f"{name}: this process holds a part of shape {list(held)}, and under {tensor.placements} of a tensor of "
            f"shape {list(tensor.shape)} it would have {list(sizes)}; tell DTensor.from_local the shape and stride"
        )
    return ChunkStorageMetadata(Size(offsets), Size(sizes))


def create_write_items(name: str, value: Any) -> list[WriteItem]:
    """What this process could write of a value."""
    if not isinstance(value, Tensor):
        return [WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO)]
    if value.layout != strided:
        raise ValueError(
            f"{name} is a tensor of layout {value.layout}, and only dense ones are cut into parts; save its parts "
            "(indices(), values()) or to_dense()"
        )
    chunk = own_chunk(name, value)
    if chunk is None or (math.prod(chunk.sizes) == 0 and math.prod(value.shape)):  # others have all of it
        return []
    properties = TensorProperties.create_from_tensor(local_part(value))
    properties.requires_grad = value.requires_grad
    kind = WriteItemType.SHARD if isinstance(value, DTensor) else WriteItemType.TENSOR
    data = TensorWriteData(chunk, properties, Size(value.shape))
    return [WriteItem(MetadataIndex(name, chunk.offsets), kind, tensor_data=data)]


def intersection(
    one: ChunkStorageMetadata, other: ChunkStorageMetadata
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Where two boxes meet: begin and lengths; None if they do not."""
    begins, lengths = [], []
    for begin, size, other_begin, other_size in zip(
        one.offsets, one.sizes, other.offsets, other.sizes, strict=True
    ):
        first, end = max(begin, other_begin), min(begin + size, other_begin + other_size)
        if first >= end:
            return None
        begins.append(first)
        lengths.append(end - first)
    return tuple(begins), tuple(lengths)


def _within(begins: Sequence[int], chunk: ChunkStorageMetadata) -> Any:
    return Size([begin - offset for begin, offset in zip(begins, chunk.offsets, strict=True)])


def create_read_items_for_chunk_list(
    fqn: str, checkpoint_md: TensorStorageMetadata, local_chunks: list[ChunkStorageMetadata]
) -> list[ReadItem]:
    """The pieces of saved parts that fill the given parts."""
    items = []
    for target_index, target in enumerate(local_chunks):
        found = 0
        for saved_index, saved in enumerate(checkpoint_md.chunks):
            shared = intersection(saved, target)
            if shared is None:
                continue
            begins, lengths = shared
            found += math.prod(lengths)
            items.append(
                ReadItem(
                    LoadItemType.TENSOR,
                    dest_index=MetadataIndex(fqn, target.offsets, target_index),
                    dest_offsets=_within(begins, target),
                    storage_index=MetadataIndex(fqn, saved.offsets, saved_index),
                    storage_offsets=_within(begins, saved),
                    lengths=Size(lengths),
                )
            )
        if found != math.prod(target.sizes):
            raise ValueError(
                f"the checkpoint has {found} of the {math.prod(target.sizes)} elements of {fqn} that begin at "
                f"{list(target.offsets)}: its metadata is damaged"
            )
    return items


def create_read_items(
    name: str, saved: TensorStorageMetadata | BytesStorageMetadata, value: Any
) -> list[ReadItem]:
    """What this process must read for a value."""
    if isinstance(saved, BytesStorageMetadata):
        index = MetadataIndex(name)
        return [ReadItem(LoadItemType.BYTE_IO, index, Size([0]), index, Size([0]), Size([0]))]
    if not isinstance(value, Tensor):
        raise ValueError(
            f"Invalid checkpoint metadata for {name}, expected BytesStorageMetadata but found {type(saved)}"
        )
    chunk = own_chunk(name, value)
    return [] if chunk is None else create_read_items_for_chunk_list(name, saved, [chunk])


def with_memory(value: Any, device: Any) -> Any:
    """Tensors without memory (meta) get some, to be loaded into."""
    if not isinstance(value, Tensor) or value.device.type != "meta":
        return value
    if not isinstance(value, DTensor):
        return _functions.empty_like(value, device=device)
    local = _functions.empty_like(value._local_tensor, device=value.device_mesh.device_type)
    return DTensor(local, value._spec, requires_grad=value.requires_grad)


__getattr__ = names_of(__name__)
