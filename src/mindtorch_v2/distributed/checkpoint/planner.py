"""What is read and written by whom: items, plans, and the interface of those who plan.

A planner knows what the state is; a storage (``storage.py``) knows where bytes go. On each process the planner says
what the process could write or needs (a local plan), on one process it makes of all of them who does what (the
global plan), and each process carries out its part.
"""

from __future__ import annotations

import abc
import io
import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ..._absent import names_of
from ..._C import Tensor
from .metadata import ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties

__all__ = [
    "BytesIOWriteData", "LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan", "SavePlanner",
    "TensorWriteData", "WriteItem", "WriteItemType",
]  # fmt: skip


class WriteItemType(Enum):
    """A whole tensor, a part of one, or something else."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """A part of a tensor, or something else."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How many bytes are written."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """Which part of which tensor is written."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Any


@dataclass(frozen=True)
class WriteItem:
    """One thing to write."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """The bytes of a tensor's part; None for what is no tensor."""
        if self.tensor_data is None:
            return None
        size: int = math.prod(self.tensor_data.chunk.sizes) * self.tensor_data.properties.dtype.itemsize
        return size


@dataclass(frozen=True)
class ReadItem:
    """One piece to read: from which saved part, beginning where in it, to where in which part of the target."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Any
    storage_index: MetadataIndex
    storage_offsets: Any
    lengths: Any


@dataclass(frozen=True)
class SavePlan:
    """What a process writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a process reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Says what is saved by whom; the methods are called in the order in which they stand here."""

    @abc.abstractmethod
    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """On every process: the state to save."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """On every process: what it could write."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """On the coordinator: who writes what, and what the checkpoint will say of itself."""

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """On every process: its part of the global plan."""

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """The values of an item, when it is written."""


class LoadPlanner:
    """Says what is loaded to where; the methods are called in the order in which they stand here."""

    @abc.abstractmethod
    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """On every process: the state to fill."""

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """On every process: what it needs."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """On the coordinator: who reads what."""

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """On every process: its part of the global plan."""

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Takes what is no tensor."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """A buffer for what is no tensor, for storages that fill one."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """The memory that a piece is read into."""

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Told when that memory is filled."""


__getattr__ = names_of(__name__)
