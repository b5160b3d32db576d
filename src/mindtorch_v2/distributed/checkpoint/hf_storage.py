"""Checkpoints as the safetensors files of Hugging Face's models.

Note [Parts in safetensors]
A file begins with the length of a list in JSON, then the list, then values. Where a file has parts of tensors the list
says under ``DCP_SHARDING_INFO`` where each begins, as PyTorch writes it; the shape of the whole is where the last part
ends. So the files need no ``.metadata``: what a folder has is read from the lists of its files.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ... import _C
from ..._absent import names_of
from ..._C import Tensor, _functions
from ..._serialization.files import writing
from ..._storage import UntypedStorage
from ..._types.size import Size
from ...futures import Future
from .default_planner import narrowed
from .filesystem import FileSystemReader, FileSystemWriter, _done, _naming
from .metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner, WriteItemType
from .storage import WriteResult

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
}  # fmt: skip
_BY_NAME = {name: getattr(_C, known) for name, known in _DTYPES.items()}
_BY_DTYPE = {dtype: name for name, dtype in _BY_NAME.items()}
_OURS = re.compile(r"(shard-\d{5}-)?model-\d{5}-of-\d{5}\.safetensors")
_LONGEST = 100_000_000  # bytes of a list, safetensors' own limit


@dataclasses.dataclass
class _Place:
    """Where the values of a tensor lie."""

    relative_path: str
    begin: int  # of the values in the file
    shape: tuple[int, ...]
    dtype: Any


def _file_name(index: int, count: int, shard: int | None = None) -> str:
    name = f"model-{index:05d}-of-{count:05d}.safetensors"
    return name if shard is None else f"shard-{shard:05d}-{name}"


def _write_file(path: Path, tensors: dict[str, Tensor], offsets: dict[str, list[int]], sync: bool) -> None:
    """Note [Parts in safetensors]. The widest values come first, so that all are aligned."""
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    parts = json.dumps({name: {"saved_offsets": offsets[name]} for name in tensors})
    said: dict[str, Any] = {
        "__metadata__": {"format": "pt", "DCP_VERSION": "1.0", "DCP_SHARDING_INFO": parts}
    }
    begin = 0
    for name in order:
        tensor = tensors[name]
        if tensor.dtype not in _BY_DTYPE:
            raise ValueError(f"{name} is of {tensor.dtype}, which safetensors files do not have")
        end = begin + tensor.numel() * tensor.element_size()
        said[name] = {
            "dtype": _BY_DTYPE[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
        begin = end
    head = json.dumps(said, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with _naming(path), writing(path) as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for name in order:
            file.write(tensors[name].reshape(-1).view(_C.uint8).numpy().data)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def _read_list(path: Path) -> tuple[dict[str, _Place], dict[str, list[int]]]:
    """Where the tensors of a file lie, and where they begin in the whole ones."""
    with _naming(path), open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        size = os.fstat(file.fileno()).st_size
        if not 2 <= length <= min(_LONGEST, size - 8):
            raise RuntimeError(f"{path} is no safetensors file: a list of {length} bytes in {size}")
        head = file.read(length)
    try:
        said = json.loads(head)
        extra = said.pop("__metadata__", {})
        parts = json.loads(extra.get("DCP_SHARDING_INFO", "{}"))
        found, offsets = {}, {}
        for name, each in said.items():
            shape, (begin, end) = tuple(map(int, each["shape"])), map(int, each["data_offsets"])
            dtype = _BY_NAME[each["dtype"]]
            offsets[name] = (
                list(map(int, parts[name]["saved_offsets"])) if name in parts else [0] * len(shape)
            )
            fits = 0 <= begin <= end <= size - 8 - length and all(extent >= 0 for extent in shape)
            if (
                not fits
                or end - begin != math.prod(shape) * dtype.itemsize
                or len(offsets[name]) != len(shape)
            ):
                raise ValueError(f"{name}: {each}")
            found[name] = _Place(path.name, 8 + length + begin, shape, dtype)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RuntimeError(
            f"{path}: its list of tensors is damaged, or of a kind that is not known ({error})"
        ) from error
    return found, offsets


def _values(mapped: UntypedStorage, place: _Place) -> Tensor:
    """A tensor over the bytes of a file."""
    count = math.prod(place.shape) * place.dtype.itemsize
    raw = _functions.empty([0], dtype=_C.uint8).set_(mapped, place.begin, [count], [1])
    if place.begin % place.dtype.itemsize:
        raw = raw.clone()
    return raw.view(place.dtype).view(place.shape)


def _mapped(path: Path) -> UntypedStorage:
    return UntypedStorage.from_file(os.fspath(path), False, path.stat().st_size)


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes safetensors files. Note [Parts in safetensors].

    ``fqn_to_index_mapping`` says by name which file, from 1 on, a tensor goes to. One process writes whole tensors;
    with ``save_distributed`` each writes its parts, and with ``enable_consolidation`` those lie in ``path/sharded`` and
    the coordinator makes files of whole tensors of them.
    """

    def __init__(
        self,
        path: str,
        fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1,
        save_distributed: bool = False,
        enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:
        if enable_consolidation and not save_distributed:
            raise ValueError("enable_consolidation is for parts: give save_distributed=True, too")
        super().__init__(path, thread_count=thread_count)
        self.fqn_to_index_mapping = fqn_to_index_mapping
        self.save_distributed, self.enable_consolidation = save_distributed, enable_consolidation
        self.thread_count_consolidation = thread_count_consolidation

    @property
    def _folder(self) -> Path:
        return self.path / "sharded" if self.enable_consolidation else self.path

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self._folder.mkdir(parents=True, exist_ok=True)
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        if not self.save_distributed and sum(bool(plan.items) for plan in plans) > 1:
            raise ValueError(
                "several processes have tensors to write: HuggingFaceStorageWriter(save_distributed=True) writes "
                "parts; without it one process saves whole tensors (no_dist=True)"
            )
        return [dataclasses.replace(plan, storage_data=rank + 1) for rank, plan in enumerate(plans)]

    def _index(self, name: str) -> int:
        mapping = self.fqn_to_index_mapping
        if mapping is None:
            return 1
        if name not in mapping:
            raise ValueError(f"fqn_to_index_mapping does not say which file {name} goes to")
        return mapping[name]

    @property
    def _count(self) -> int:
        return max(self.fqn_to_index_mapping.values()) if self.fqn_to_index_mapping else 1

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        files: dict[int, dict[str, Tensor]] = {}
        offsets: dict[str, list[int]] = {}
        results = []
        shard = plan.storage_data if self.save_distributed else None
        for item in plan.items:
            name = item.index.fqn
            if item.type == WriteItemType.BYTE_IO:
                raise ValueError(
                    f"{name} is no tensor, and safetensors files have tensors only: save it elsewhere"
                )
            if name in offsets:
                raise ValueError(
                    f"{name} has several parts on one process, which a safetensors file cannot have"
                )
            tensor = planner.resolve_data(item).detach().cpu().contiguous()  # type: ignore[union-attr]
            files.setdefault(self._index(name), {})[name] = tensor
            offsets[name] = list(item.index.offset or [0] * tensor.dim())
            results.append(
                WriteResult(item.index, tensor.nbytes, _file_name(self._index(name), self._count, shard))
            )
        self._written = [self._folder / _file_name(index, self._count, shard) for index in files]
        for path, tensors in zip(self._written, files.values(), strict=True):
            _write_file(path, tensors, offsets, self.sync_files)
        return _done(results)

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        everything = [each for part in results for each in part]
        self._remove_except(self._folder, {each.storage_data for each in everything})
        if not self.save_distributed:
            names = {each.index.fqn: each.storage_data for each in everything}
            self._write_index(names, sum(each.size_in_bytes for each in everything))
        elif self.enable_consolidation:
            self._consolidate()

    def _remove_except(self, folder: Path, written: Iterable[str]) -> None:
        """What an earlier checkpoint left would be read with this one."""
        for name in {each for each in os.listdir(folder) if _OURS.fullmatch(each)} - set(written):
            (folder / name).unlink()

    def _write_index(self, names: dict[str, str], total: int) -> None:
        said = {"metadata": {"total_size": total}, "weight_map": dict(sorted(names.items()))}
        path = self.path / "model.safetensors.index.json"
        with _naming(path), writing(path) as file:
            file.write(json.dumps(said, indent=2).encode())

    def _consolidate(self) -> None:
        reader = HuggingFaceStorageReader(os.fspath(self._folder))
        known = reader.read_metadata()
        files: dict[int, list[str]] = {}
        for name in known.state_dict_metadata:
            files.setdefault(self._index(name), []).append(name)
        mapped: dict[str, UntypedStorage] = {}
        names, total = {}, 0
        for index, inside in sorted(files.items()):
            tensors = {}
            for name in inside:
                about = known.state_dict_metadata[name]
                assert isinstance(about, TensorStorageMetadata)
                whole = tensors[name] = _functions.empty(list(about.size), dtype=about.properties.dtype)
                for chunk in about.chunks:
                    place = known.storage_data[MetadataIndex(name, chunk.offsets)]
                    if place.relative_path not in mapped:
                        mapped[place.relative_path] = _mapped(self._folder / place.relative_path)
                    values = _values(mapped[place.relative_path], place)
                    narrowed(whole, chunk.offsets, chunk.sizes).copy_(values)
                names[name], total = _file_name(index, self._count), total + whole.nbytes
            offsets = {name: [0] * tensor.dim() for name, tensor in tensors.items()}
            _write_file(self.path / _file_name(index, self._count), tensors, offsets, self.sync_files)
        self._remove_except(self.path, set(names.values()))
        self._write_index(names, total)


class HuggingFaceStorageReader(FileSystemReader):
    """Reads the safetensors files of a folder, of whole tensors or of parts. Note [Parts in safetensors]."""

    def __init__(self, path: str, thread_count: int = 1) -> None:
        super().__init__(path)
        self.thread_count = thread_count

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        files = sorted(self.path.glob("*.safetensors"))
        if not files:
            raise FileNotFoundError(2, "the folder has no safetensors files", os.fspath(self.path))
        tensors: dict[str, TensorStorageMetadata] = {}
        places: dict[MetadataIndex, Any] = {}
        for path in files:
            found, offsets = _read_list(path)
            for name, place in found.items():
                begin = offsets[name]
                ends = [start + extent for start, extent in zip(begin, place.shape, strict=True)]
                about = tensors.setdefault(
                    name, TensorStorageMetadata(TensorProperties(dtype=place.dtype), Size(ends), [])
                )
                index = MetadataIndex(name, begin)
                if index in places or about.properties.dtype != place.dtype or len(about.size) != len(ends):
                    raise RuntimeError(
                        f"{name} lies in {path} and, otherwise, in {self.path / places[index].relative_path}"
                        if index in places
                        else f"{name} in {path} is of another dtype or number of dimensions than in other files"
                    )
                about.size = Size(map(max, about.size, ends))
                about.chunks.append(ChunkStorageMetadata(Size(begin), Size(place.shape)))
                places[index] = place
        meta = StorageMeta(checkpoint_id=self.checkpoint_id, load_id=str(uuid.uuid4()))
        return Metadata(dict(tensors), storage_data=places, storage_meta=meta)

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        mapped: dict[str, UntypedStorage] = {}
        for item in plan.items:
            place: Any = self.storage_data[item.storage_index]
            if place.relative_path not in mapped:
                mapped[place.relative_path] = _mapped(self.path / place.relative_path)
            piece = narrowed(_values(mapped[place.relative_path], place), item.storage_offsets, item.lengths)
            target = planner.resolve_tensor(item).detach()
            target.copy_(piece)
            planner.commit_tensor(item, target)
        return _done(None)


__getattr__ = names_of(__name__)
