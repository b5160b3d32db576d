"""The interface of those who know where bytes go. ``filesystem.py`` has files."""

from __future__ import annotations

import abc
import os
from dataclasses import dataclass
from typing import Any

from ..._absent import names_of
from ...futures import Future
from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class WriteResult:
    """Something that was written, and where."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """Writes a checkpoint; the methods are called in the order in which they stand here."""

    @abc.abstractmethod
    def reset(self, checkpoint_id: PathLike | None = None) -> None:
        """A new checkpoint begins, here or under another name."""

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """On every process, which may be the one that finishes."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """On every process, of what it could write."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """On the coordinator, of what each will write."""

    @abc.abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """On every process: writes its part."""

    @abc.abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """On the coordinator, when all have written: from now on there is a checkpoint."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: PathLike) -> bool:
        """Whether this is a name of a checkpoint that this storage can write."""

    def storage_meta(self) -> StorageMeta | None:
        """What the checkpoint is called."""
        return None

    def discard(self) -> None:  # noqa: B027 - a storage of others may have nothing to remove
        """On every process, when all agree that saving failed: removes what was written."""


class StorageReader(abc.ABC):
    """Reads a checkpoint; the methods are called in the order in which they stand here."""

    @abc.abstractmethod
    def reset(self, checkpoint_id: PathLike | None = None) -> None:
        """Reading begins, here or under another name."""

    @abc.abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """On every process: what the checkpoint says of itself."""

    @abc.abstractmethod
    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """On every process, with that."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """On every process, of what it needs."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """On the coordinator, of what each needs."""

    @abc.abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """On every process: reads its part."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: PathLike) -> bool:
        """Whether this is a name of a checkpoint that this storage can read."""


__getattr__ = names_of(__name__)
