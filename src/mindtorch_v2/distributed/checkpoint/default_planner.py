"""The planners that are used if none is given.

Each process offers all it holds; of what several hold (plain tensors, replicated parts, other objects) one is chosen to
write it, so that the processes have about as much to write.
"""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Iterable
from typing import Any

from ..._absent import names_of
from ..._C import Tensor, _functions
from ...serialization import load, save
from ..world import default_group, is_initialized
from ._nested_dict import FLATTEN_MAPPING, flatten_state_dict
from ._traverse import set_element
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem, WriteItemType
from .planner_helpers import create_read_items, create_write_items, intersection, with_memory
from .utils import find_state_dict_object

__all__ = [
    "DefaultLoadPlanner", "DefaultSavePlanner", "create_default_global_load_plan", "create_default_global_save_plan",
    "create_default_local_load_plan", "create_default_local_save_plan",
]  # fmt: skip

_VERSION = "1.0.0"  # of the format, as PyTorch writes it


class DefaultSavePlanner(SavePlanner):
    """``flatten_state_dict``: values in dicts within dicts are saved one by one.

    Plans are made anew each time, with ``enable_plan_caching`` too; there are no ShardedTensors to be flattened.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.state_dict: dict[str, Any] = {}
        self.mappings: FLATTEN_MAPPING = {}
        self.is_coordinator = False

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            plan = dataclasses.replace(plan, planner_data=self.mappings)
        self.plan = plan
        return plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        plans = _each_once(all_plans, self.dedup_save_to_lowest_rank)
        plans, metadata = create_default_global_save_plan(plans)
        if self.flatten_state_dict:
            paths = {name: path for plan in plans for name, path in (plan.planner_data or {}).items()}
            metadata = dataclasses.replace(metadata, planner_data=paths)
        _check(metadata)
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        made: Tensor | io.BytesIO = self.transform_object(write_item, self.lookup_object(write_item.index))
        return made

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The value of an item: for those who derive from this class."""
        return find_state_dict_object(self.state_dict, index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """What is written for a value: for those who derive from this class."""
        if write_item.type == WriteItemType.BYTE_IO:
            buffer = io.BytesIO()
            save(object, buffer)
            buffer.seek(0)
            return buffer
        return object


class DefaultLoadPlanner(LoadPlanner):
    """Loads into the tensors of the state. ``allow_partial_load``: what the checkpoint lacks stays as it is."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.original_state_dict: dict[str, Any] = {}
        self.state_dict: dict[str, Any] = {}
        self.mappings: FLATTEN_MAPPING = {}
        self.metadata: Metadata | None = None
        self.is_coordinator = False

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        self.original_state_dict = self.state_dict = state_dict
        if self.flatten_state_dict:
            self.state_dict, self.mappings = flatten_state_dict(state_dict)
        device = default_group().object_device if is_initialized() else "cpu"
        for name, value in list(self.state_dict.items()):
            if (made := with_memory(value, device)) is not value:
                self._put(name, made)
        self.metadata, self.is_coordinator = metadata, is_coordinator

    def _put(self, name: str, value: Any) -> None:
        self.state_dict[name] = value
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], value)

    def create_local_plan(self) -> LoadPlan:
        assert self.metadata is not None
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, new_plan: LoadPlan) -> LoadPlan:
        return new_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        # Plain values only, as torch.load has it: what a checkpoint asks for is not run.
        self._put(read_item.dest_index.fqn, load(value))

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        tensor = self.lookup_tensor(read_item.dest_index)
        made: Tensor = self.transform_tensor(read_item, tensor)
        return made

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        pass

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """This process's memory of a tensor: for those who derive from this class."""
        found: Tensor = find_state_dict_object(self.state_dict, index)
        return found

    def transform_tensor(self, read_item: ReadItem, tensor: Tensor) -> Tensor:
        """The piece of it that an item fills: for those who derive from this class."""
        return narrowed(tensor, read_item.dest_offsets, read_item.lengths)


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Makes the state from what the checkpoint has: all of it, or what is named (by a name or its beginning)."""

    def __init__(self, keys: Iterable[str] | None = None, *args: Any, **kwargs: Any) -> None:
        self.keys = None if keys is None else set(keys)
        super().__init__(*args, **kwargs)

    def _wanted(self, name: str, path: tuple[str | int, ...]) -> bool:
        if self.keys is None or name in self.keys:
            return True
        return any(".".join(map(str, path[:length])) in self.keys for length in range(1, len(path)))

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        if state_dict:
            raise ValueError(
                f"the state is made from the checkpoint, and one with {list(state_dict)[:5]} was given"
            )
        assert metadata is not None
        paths = metadata.planner_data or {}
        for name, saved in metadata.state_dict_metadata.items():
            path = paths.get(name, (name,))
            if not self._wanted(name, path):
                continue
            value = None
            if isinstance(saved, TensorStorageMetadata):
                value = _functions.empty(saved.size, dtype=saved.properties.dtype)
            set_element(state_dict, path, value)
        super().set_up_planner(state_dict, metadata, is_coordinator)


def narrowed(tensor: Tensor, offsets: Iterable[int], lengths: Iterable[int]) -> Tensor:
    """A box of a tensor."""
    for dim, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        if length != tensor.shape[dim]:
            tensor = tensor.narrow(dim, offset, length)
    return tensor


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """All that this process holds."""
    return SavePlan([item for name, value in state_dict.items() for item in create_write_items(name, value)])


def create_default_local_load_plan(
    state_dict: dict[str, Any], metadata: Metadata, strict: bool = True
) -> LoadPlan:
    """All that this process needs."""
    items: list[ReadItem] = []
    for name, value in state_dict.items():
        saved = metadata.state_dict_metadata.get(name)
        if saved is None:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        if (
            isinstance(saved, TensorStorageMetadata)
            and isinstance(value, Tensor)
            and tuple(saved.size) != tuple(value.shape)
        ):
            raise ValueError(
                f"Size mismatch between saved {saved.size} and current: {value.size()} for {name}"
            )
        items += create_read_items(name, saved, value)
    return LoadPlan(items)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """Each process reads what it needs."""
    return all_plans


def _differs(name: str, one: Any, other: Any) -> ValueError:
    one, other = ("no tensor" if size is None else f"of shape {list(size)}" for size in (one, other))
    return ValueError(
        f"{name} is {one} on one process and {other} on another; a name means one thing on all processes, so save "
        "what differs under names of its own"
    )


def _each_once(plans: list[SavePlan], to_lowest_rank: bool) -> list[SavePlan]:
    """Of what several processes offer, one keeps it: the one that has least to write so far, or the first."""
    holders: dict[MetadataIndex, list[int]] = {}
    sizes: dict[MetadataIndex, int] = {}
    shapes: dict[MetadataIndex, Any] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            holders.setdefault(item.index, []).append(rank)
            sizes[item.index] = item.tensor_storage_size() or 1
            if item.tensor_data is not None:
                shape = tuple(item.tensor_data.size)
                if (there := shapes.setdefault(item.index, shape)) != shape:
                    raise _differs(item.index.fqn, there, shape)
    load = [0] * len(plans)
    chosen: dict[MetadataIndex, int] = {}
    # First what only one has, then from the largest to the smallest.
    for index in sorted(holders, key=lambda index: (len(holders[index]) > 1, -sizes[index])):
        ranks = holders[index]
        chosen[index] = min(ranks) if to_lowest_rank else min(ranks, key=lambda rank: (load[rank], rank))
        load[chosen[index]] += sizes[index]
    return [
        dataclasses.replace(plan, items=[item for item in plan.items if chosen[item.index] == rank])
        for rank, plan in enumerate(plans)
    ]


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """What the checkpoint has, from what each process writes."""
    known: dict[str, TensorStorageMetadata | BytesStorageMetadata] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            name, data = item.index.fqn, item.tensor_data
            if data is None:
                if isinstance(there := known.setdefault(name, BytesStorageMetadata()), TensorStorageMetadata):
                    raise _differs(name, there.size, None)
                items.append(item)
                continue
            tensor = known.setdefault(name, TensorStorageMetadata(data.properties, data.size, []))
            if isinstance(tensor, BytesStorageMetadata):
                raise _differs(name, None, data.size)
            if tuple(tensor.size) != tuple(data.size):
                raise _differs(name, tensor.size, data.size)
            index = item.index
            if rewrite_index_hints:
                index = dataclasses.replace(index, index=len(tensor.chunks))
            items.append(dataclasses.replace(item, index=index))
            tensor.chunks.append(data.chunk)
        plans.append(dataclasses.replace(plan, items=items))
    return plans, Metadata(known, version=_VERSION)


def _check(metadata: Metadata) -> None:
    """Every tensor is covered by its parts, each element once."""
    for name, saved in metadata.state_dict_metadata.items():
        if not isinstance(saved, TensorStorageMetadata):
            continue
        if any(
            offset < 0 or offset + size > whole
            for chunk in saved.chunks
            for offset, size, whole in zip(chunk.offsets, chunk.sizes, saved.size, strict=True)
        ):
            raise ValueError(f"a part of {name} lies outside the tensor, whose shape is {list(saved.size)}")
        if sum(math.prod(chunk.sizes) for chunk in saved.chunks) != math.prod(saved.size):
            raise ValueError(
                f"the parts of {name} have {[list(chunk.sizes) for chunk in saved.chunks][:8]} elements, and do not "
                f"make up its shape {list(saved.size)}: every process of its mesh must save, and each its own part"
            )
        if (pair := _meeting(saved.chunks)) is not None:
            raise ValueError(f"parts of {name} overlap: {pair[0]} and {pair[1]}")


def _meeting(
    chunks: list[ChunkStorageMetadata],
) -> tuple[ChunkStorageMetadata, ChunkStorageMetadata] | None:
    """Two boxes that meet; those that begin beyond the end of a box in the first dimension are not compared with it."""
    ordered = sorted(chunks, key=lambda chunk: tuple(chunk.offsets))
    for at, chunk in enumerate(ordered):
        for other in ordered[at + 1 :]:
            if len(chunk.sizes) and other.offsets[0] >= chunk.offsets[0] + chunk.sizes[0]:
                break
            if intersection(chunk, other) is not None:
                return chunk, other
    return None


__getattr__ = names_of(__name__)
