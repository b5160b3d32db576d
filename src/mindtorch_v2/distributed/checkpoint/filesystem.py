"""Checkpoints as files of one folder that all processes see.

Note [The folder]
``__<rank>_<number>.distcp`` holds what a process wrote, each item in the form of ``torch.save`` one behind the other;
``.metadata`` says which bytes of which file are what. This is PyTorch's layout. A file counts only if ``.metadata``
names it, and that is replaced at once, when all files are written and on the disk: a checkpoint is there or not, and
saving over one writes files of higher numbers beside its own, which go when the new ``.metadata`` stands. What a
process that was killed left behind goes with them.

Items begin at multiples of 64 bytes, so that tensors can be mapped; reading copies straight from the mapped file to
where the values belong, and only the rows that are wanted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pickle
import re
import uuid
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from typing import Any

from ..._absent import names_of
from ..._C import Tensor
from ..._serialization.files import writing
from ..._serialization.loading import load_zip
from ..._serialization.zip_reader import ZipReader
from ..._storage import UntypedStorage
from ...futures import Future
from ...serialization import save
from . import _metadata_file
from ._metadata_file import _StorageInfo as _StorageInfo
from .default_planner import narrowed
from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadItemType, LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .staging import BlockingAsyncStager
from .storage import PathLike, StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystemReader", "FileSystemWriter", "SerializationFormat"]

_METADATA = ".metadata"
_DATA_FILE = re.compile(r"__(\d+)_(\d+)\.distcp")
_ALIGNMENT = 64


class SerializationFormat(Enum):
    """How tensors are written."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


@dataclasses.dataclass
class _StoragePrefix:
    """How the files of a process are called: the beginning of the name, and the first number."""

    prefix: str
    first: int = 0


def _done(result: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(result)
    return future


def _metadata_path(folder: Path, rank: int | None) -> Path:
    """Of the checkpoint, or where processes save without knowing of each other, of a process."""
    return folder / (_METADATA if rank is None else f"__{rank}{_METADATA}")


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors of the disk name the file."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


class FileSystemWriter(BlockingAsyncStager, StorageWriter):
    """Writes a checkpoint to a folder. Note [The folder].

    ``thread_count`` threads write a file each; without ``single_file_per_rank`` each item has a file. ``sync_files``
    waits until the disk has the bytes. With ``overwrite`` false, a folder that has a checkpoint is refused.
    """

    def __init__(
        self,
        path: PathLike,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Any = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        super().__init__(cache_staged_state_dict=cache_staged_state_dict)
        if _extensions:
            raise NotImplementedError(
                "FileSystemWriter(_extensions=): what is written is not transformed here"
            )
        if serialization_format != SerializationFormat.TORCH_SAVE:
            raise NotImplementedError(
                f"FileSystemWriter(serialization_format={serialization_format}): write TORCH_SAVE, and convert with "
                "format_utils.dcp_to_torch_save"
            )
        if thread_count < 1:
            raise ValueError(f"thread_count is {thread_count}; at least one thread writes")
        self.path = Path(path)
        self.single_file_per_rank = single_file_per_rank
        self.sync_files = sync_files
        self.thread_count = thread_count
        self.per_thread_copy_ahead = per_thread_copy_ahead
        self.overwrite = overwrite
        self.is_coordinator = False
        self.rank: int | None = None  # of a process that saves without knowing of the others
        self.save_id = str(uuid.uuid4())
        self._written: list[Path] = []

    @property
    def checkpoint_id(self) -> PathLike:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: PathLike) -> bool:
        if isinstance(checkpoint_id, Path):
            return True
        text = os.fspath(checkpoint_id)
        if "://" in text:
            return False
        return any(parent.exists() and os.access(parent, os.W_OK) for parent in Path(text).parents)

    def reset(self, checkpoint_id: PathLike | None = None) -> None:
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)
        self.save_id = str(uuid.uuid4())
        self._written = []

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.is_coordinator = is_coordinator
        self.rank = None if kwargs.get("use_collectives", True) else kwargs["rank"]

    def storage_meta(self) -> StorageMeta | None:
        return StorageMeta(checkpoint_id=self.checkpoint_id, save_id=self.save_id)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.path.mkdir(parents=True, exist_ok=True)
        if _metadata_path(self.path, self.rank).exists():
            if not self.overwrite:
                raise RuntimeError(f"Checkpoint already exists and {self.overwrite=}.")
            warnings.warn(
                f"Detected an existing checkpoint in {self.path}, overwriting since {self.overwrite=}. Past version "
                "2.5 of PyTorch, `overwrite` will default to False. Set this variable to True to maintain this "
                "functionality or False to raise when an existing checkpoint is found.",
                stacklevel=2,
            )
        if self.rank is not None:
            return dataclasses.replace(
                plan, storage_data=_StoragePrefix(f"__{self.rank}_", self._free_number())
            )
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        first = self._free_number()
        return [
            dataclasses.replace(plan, storage_data=plan.storage_data or _StoragePrefix(f"__{rank}_", first))
            for rank, plan in enumerate(plans)
        ]

    def _data_files(self) -> list[tuple[str, int, int]]:
        """Those of any checkpoint in the folder: name, rank and number."""
        found = [(entry.name, _DATA_FILE.fullmatch(entry.name)) for entry in os.scandir(self.path)]
        return [(name, int(match[1]), int(match[2])) for name, match in found if match]

    def _free_number(self) -> int:
        return max((number + 1 for _, _, number in self._data_files()), default=0)

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        prefix: _StoragePrefix = plan.storage_data
        parts = self._shared_out(plan.items)
        paths = [self.path / f"{prefix.prefix}{prefix.first + at}.distcp" for at in range(len(parts))]
        self._written = paths
        try:
            with (
                ThreadPoolExecutor(self.thread_count) if len(parts) > 1 else contextlib.nullcontext() as pool
            ):
                run = map if pool is None else pool.map
                written = list(run(lambda path, items: self._write_file(path, items, planner), paths, parts))
        except BaseException:
            self.discard()
            raise
        return _done([result for results in written for result in results])

    def _shared_out(self, items: list[WriteItem]) -> list[list[WriteItem]]:
        """Which items go to which file: the smallest first, because those are no tensors."""
        if not self.single_file_per_rank:
            return [[item] for item in items]
        parts: list[list[WriteItem]] = [[] for _ in range(min(self.thread_count, len(items)))]
        sizes = [0] * len(parts)
        for item in sorted(items, key=lambda item: -(item.tensor_storage_size() or 0)):
            least = sizes.index(min(sizes))
            parts[least].append(item)
            sizes[least] += item.tensor_storage_size() or 1
        return [sorted(part, key=lambda item: item.tensor_storage_size() or 0) for part in parts]

    def _write_file(self, path: Path, items: list[WriteItem], planner: SavePlanner) -> list[WriteResult]:
        results = []
        with _naming(path), open(path, "wb") as file:
            for item in items:
                file.write(bytes(-file.tell() % _ALIGNMENT))
                begin = file.tell()
                _write(planner.resolve_data(item), file)
                place = _StorageInfo(path.name, begin, file.tell() - begin)
                results.append(WriteResult(item.index, place.length, place))
            file.flush()
            if self.sync_files:
                os.fsync(file.fileno())
        return results

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        metadata.storage_data = {result.index: result.storage_data for part in results for result in part}
        metadata.storage_meta = self.storage_meta()
        path = _metadata_path(self.path, self.rank)
        with _naming(path), writing(path) as file:
            file.write(_metadata_file.written(metadata))
            file.flush()
            if self.sync_files:
                os.fsync(file.fileno())
        self._remove_others({place.relative_path for place in metadata.storage_data.values()})

    def _remove_others(self, named: set[str]) -> None:
        """The checkpoint stands: nothing that goes wrong from here on may make others think that it does not."""
        try:
            if self.sync_files:
                _sync_names(self.path)
            for name, rank, _ in self._data_files():
                if name not in named and self.rank in (None, rank):
                    os.unlink(self.path / name)
        except OSError as error:
            warnings.warn(f"files of an earlier checkpoint could not be removed: {error}", stacklevel=2)

    def discard(self) -> None:
        for path in self._written:
            path.unlink(missing_ok=True)
        self._written = []


def _sync_names(folder: Path) -> None:
    """Waits until the disk knows which files a folder has."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _write(data: Tensor | io.BytesIO, file: Any) -> None:
    if isinstance(data, io.BytesIO):
        file.write(data.getbuffer())
        return
    tensor = data.detach().cpu()
    if tensor.untyped_storage().nbytes() != tensor.numel() * tensor.element_size():
        tensor = tensor.clone()  # a view: what lies beside it is not saved
    save(tensor, file)


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a folder. Note [The folder]."""

    def __init__(self, path: PathLike, _extension_registry: Any = None) -> None:
        if _extension_registry is not None:
            raise NotImplementedError("FileSystemReader(_extension_registry=): nothing is transformed here")
        self.path = Path(path)
        self.storage_data: dict[MetadataIndex, _StorageInfo] = {}

    @property
    def checkpoint_id(self) -> PathLike:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: PathLike) -> bool:
        return FileSystemWriter.validate_checkpoint_id(checkpoint_id)

    def reset(self, checkpoint_id: PathLike | None = None) -> None:
        self.storage_data = {}
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        path = _metadata_path(self.path, kwargs.get("rank"))
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise FileNotFoundError(2, f"{self._what_is_there()}; no such file", os.fspath(path)) from None
        metadata = _metadata_file.read(os.fspath(path), data)
        if metadata.storage_meta is None:
            metadata.storage_meta = StorageMeta()
        metadata.storage_meta.load_id = str(uuid.uuid4())
        return metadata

    def has_metadata_of(self, rank: int) -> bool:
        """Whether a process saved here without the others."""
        return _metadata_path(self.path, rank).exists()

    def _what_is_there(self) -> str:
        if not self.path.is_dir():
            return "there is no such checkpoint"
        if any(_DATA_FILE.fullmatch(name) for name in os.listdir(self.path)):
            return "this checkpoint was begun and not finished: load an earlier one"
        return "the folder has no checkpoint"

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        self.storage_data = metadata.storage_data or {}

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        by_file: dict[str, list[tuple[ReadItem, _StorageInfo]]] = {}
        for item in plan.items:
            place = self.storage_data.get(item.storage_index)
            if place is None:
                raise RuntimeError(f"{self.path}: its metadata does not say where {item.storage_index} lies")
            if place.transform_descriptors:
                raise NotImplementedError(
                    f"{item.storage_index.fqn} was written through {place.transform_descriptors}, which are not here"
                )
            by_file.setdefault(place.relative_path, []).append((item, place))
        for name, items in by_file.items():
            path = self.path / name
            with _naming(path), open(path, "rb") as file:
                contents = _File(path, file)
                # In the order of the file, which is how disks like to be read.
                for item, place in sorted(items, key=lambda each: each[1].offset):
                    contents.read(item, place, planner)
        return _done(None)


class _File:
    """One file of a checkpoint, from which items are read."""

    def __init__(self, path: Path, file: Any) -> None:
        self._path, self._file = path, file
        self._mapped: UntypedStorage | None = None
        self._last: tuple[int, Tensor] | None = None  # pieces of one tensor follow each other

    def read(self, item: ReadItem, place: _StorageInfo, planner: LoadPlanner) -> None:
        self._file.seek(place.offset)
        if item.type == LoadItemType.BYTE_IO:
            data = self._file.read(place.length)
            if len(data) != place.length:
                raise RuntimeError(f"{self._path} ends within {item.storage_index.fqn}: the file is damaged")
            with self._explaining(item):
                planner.load_bytes(item, io.BytesIO(data))
            return
        with self._explaining(item):
            whole = self._tensor(item, place)
        piece = narrowed(whole, item.storage_offsets, item.lengths)
        target = planner.resolve_tensor(item).detach()
        if target.shape != piece.shape:
            raise ValueError(
                f"{item.storage_index.fqn}: a piece of shape {list(piece.shape)} does not go into memory of shape "
                f"{list(target.shape)}"
            )
        target.copy_(piece)
        planner.commit_tensor(item, target)

    @contextlib.contextmanager
    def _explaining(self, item: ReadItem) -> Iterator[None]:
        """What cannot be read is named, with its file."""
        try:
            yield
        except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise type(error)(f"{item.storage_index.fqn} in {self._path}: {error}") from error

    def _tensor(self, item: ReadItem, place: _StorageInfo) -> Tensor:
        if self._last is not None and self._last[0] == place.offset:
            return self._last[1]
        if self._mapped is None:
            size = os.fstat(self._file.fileno()).st_size
            self._mapped = UntypedStorage.from_file(os.fspath(self._path), False, size)
        archive = ZipReader(self._file, place.length)
        found = load_zip(archive, "cpu", None, load_endianness=None, skip_data=False, mapped=self._mapped)
        wanted = [offset + length for offset, length in zip(item.storage_offsets, item.lengths, strict=True)]
        if (
            not isinstance(found, Tensor)
            or found.dim() != len(wanted)
            or any(end > size for end, size in zip(wanted, found.shape, strict=True))
        ):
            raise RuntimeError(f"at {place.offset} there is something else: the file is damaged")
        self._last = (place.offset, found)
        return found


__getattr__ = names_of(__name__)
