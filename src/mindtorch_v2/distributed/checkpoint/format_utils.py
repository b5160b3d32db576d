"""From a folder to one file of ``torch.save``, and back."""

from __future__ import annotations

import os
from typing import Any

from ..._absent import names_of
from ..._C import Tensor, _functions
from ..._types.size import Size
from ...futures import Future
from ...serialization import load, save
from .. import collectives
from ..world import default_group, get_rank, is_initialized
from ._nested_dict import flatten_state_dict
from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner, narrowed
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import ChunkStorageMetadata, Metadata, TensorProperties, TensorStorageMetadata
from .planner import LoadPlan, LoadPlanner, ReadItem
from .state_dict_loader import _load_state_dict
from .state_dict_saver import _save_state_dict
from .storage import PathLike, StorageReader

__all__ = ["BroadcastingTorchSaveReader", "DynamicMetaLoadPlanner", "dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: PathLike, torch_save_path: PathLike) -> None:
    """Makes one file of a folder. Everything passes through this process's memory."""
    state: dict[str, Any] = {}
    _load_state_dict(
        state, FileSystemReader(dcp_checkpoint_dir), no_dist=True, planner=_EmptyStateDictLoadPlanner()
    )
    save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path: PathLike, dcp_checkpoint_dir: PathLike) -> None:
    """Makes a folder of one file."""
    state = load(torch_save_path, map_location="cpu")
    _save_state_dict(state, FileSystemWriter(dcp_checkpoint_dir), no_dist=True)


class BroadcastingTorchSaveReader(StorageReader):
    """Loads tensors from a file of ``torch.save`` that one process reads: the others are sent each tensor in turn.

    To be used with DynamicMetaLoadPlanner, by processes whose states have the same names.
    """

    def __init__(self, checkpoint_id: PathLike | None = None, coordinator_rank: int = 0) -> None:
        self.checkpoint_id = checkpoint_id
        self.coordinator_rank = coordinator_rank
        self.is_coordinator = False

    def reset(self, checkpoint_id: PathLike | None = None) -> None:
        if checkpoint_id is not None:
            self.checkpoint_id = checkpoint_id

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: PathLike) -> bool:
        return os.path.isfile(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        return Metadata({})  # the planner has it

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        self.is_coordinator = is_coordinator
        if self.checkpoint_id is None:
            raise ValueError("the file to read was not named: BroadcastingTorchSaveReader(checkpoint_id=...)")

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        if not isinstance(planner, DynamicMetaLoadPlanner):
            raise ValueError(
                f"a {type(planner).__name__} was given; use DynamicMetaLoadPlanner with this reader"
            )
        items: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            items.setdefault(item.storage_index.fqn, []).append(item)
        own = self._contents(planner) if self.is_coordinator else {}
        for name, value in planner.state_dict.items():
            whole = self._sent(own.get(name), value)
            for item in items.get(name, []):
                target = planner.resolve_tensor(item)
                target.copy_(narrowed(whole, item.storage_offsets, item.lengths))
                planner.commit_tensor(item, target)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def _contents(self, planner: DefaultLoadPlanner) -> dict[str, Any]:
        assert self.checkpoint_id is not None
        found, _ = flatten_state_dict(load(self.checkpoint_id, map_location="cpu"))
        for name, value in planner.state_dict.items():
            saved = found.get(name)
            if not isinstance(saved, Tensor) or saved.shape != value.shape:
                got = f"of shape {list(saved.shape)}" if isinstance(saved, Tensor) else "not there"
                raise ValueError(f"{self.checkpoint_id}: {name} is {got}, and {list(value.shape)} was wanted")
        return found

    def _sent(self, own: Tensor | None, value: Tensor) -> Tensor:
        if not is_initialized():
            assert own is not None
            return own
        device = default_group().object_device
        if get_rank() == self.coordinator_rank:
            assert own is not None
            whole = own.detach().to(device=device, dtype=value.dtype).contiguous()
        else:
            whole = _functions.empty(value.shape, dtype=value.dtype, device=device)
        collectives.broadcast(whole, src=self.coordinator_rank)
        return whole


class DynamicMetaLoadPlanner(DefaultLoadPlanner):
    """Takes the shapes from the state that is filled, for storages that do not know what they have."""

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        super().set_up_planner(state_dict, metadata, is_coordinator)
        known: dict[str, Any] = {}
        for name, value in self.state_dict.items():
            if not isinstance(value, Tensor):
                raise RuntimeError(
                    f"Non-tensor value identified at {name}. At this time {type(self).__name__} only supports "
                    "loading Tensors."
                )
            whole = ChunkStorageMetadata(Size([0] * value.dim()), Size(value.shape))
            known[name] = TensorStorageMetadata(
                TensorProperties(dtype=value.dtype), Size(value.shape), [whole]
            )
        self.metadata = Metadata(known)


__getattr__ = names_of(__name__)
