"""torch.save and torch.load, in PyTorch's file formats.

``load`` reads tensors and plain containers only, unless it is told to trust the file (``weights_only=False``).
The parts are in ``_serialization``.
"""

from __future__ import annotations

import os
import pickle
import re
import warnings
from collections.abc import Callable
from enum import Enum
from mmap import MAP_PRIVATE, MAP_SHARED
from typing import IO, Any, TypeAlias

from . import _C
from ._absent import names_of
from ._serialization import restricted
from ._serialization.archives import open_file_like, open_reader, open_writer
from ._serialization.files import archive_name, is_path, reading, writing
from ._serialization.legacy import SourceChangeWarning as SourceChangeWarning
from ._serialization.legacy import load_legacy
from ._serialization.loading import load_zip
from ._serialization.locations import default_restore_location as default_restore_location
from ._serialization.locations import location_tag as location_tag
from ._serialization.locations import register_package as register_package
from ._serialization.names import StorageType as StorageType
from ._serialization.safetensors import load_safetensors
from ._serialization.saving import MAGIC_NUMBER as MAGIC_NUMBER
from ._serialization.saving import PROTOCOL_VERSION as PROTOCOL_VERSION
from ._serialization.saving import save_legacy, save_zip
from ._serialization.zip_reader import ZipReader, is_zip
from ._storage import UntypedStorage
from ._types.formats import _get_layout as _get_layout
from ._utils import loading

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]

# What annotations of packages say.
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | _C.device | str | dict[str, str] | None
FILE_LIKE: TypeAlias = str | os.PathLike[str] | IO[bytes]

DEFAULT_PROTOCOL = 2
_ALIGNMENT = 64
_TRUE = ("1", "y", "yes", "true")
_UNSAFE_MESSAGE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source."
)
_DOCS_MESSAGE = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)

# ---- options -----------------------------------------------------------------------------------------


class LoadEndianness(Enum):
    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Options:
    load_endianness: LoadEndianness | None = None
    crc32 = True
    mmap = MAP_PRIVATE


_options = _Options()


def get_default_load_endianness() -> LoadEndianness | None:
    """How files without a byte order record are read; None: as little endian."""
    return _options.load_endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets how files without a byte order record are read."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _options.load_endianness = endianness


def get_crc32_options() -> bool:
    """Whether ``save`` computes checksums."""
    return _options.crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether ``save`` computes checksums. Without them it is faster, and damage to the file goes unnoticed."""
    _options.crc32 = compute_crc32


def get_default_mmap_options() -> int:
    """MAP_PRIVATE or MAP_SHARED: how ``load(mmap=True)`` maps files."""
    return _options.mmap


class set_default_mmap_options:
    """Sets how ``load(mmap=True)`` maps files, for good or for the time of a ``with`` block."""

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                f"mmap.MAP_SHARED, but got {flags}"
            )
        self.prev, _options.mmap = _options.mmap, flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _options.mmap = self.prev


class skip_data:
    """``save`` leaves holes where the data of storages goes; ``load`` makes storages without reading their data.

    ``materialize_fake_tensors`` saves fake tensors as tensors of the device that they stand for.
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._previous = loading.skip_data, loading.materialize_fake_tensors
        loading.skip_data, loading.materialize_fake_tensors = True, self.materialize_fake_tensors

    def __exit__(self, *exception: object) -> None:
        loading.skip_data, loading.materialize_fake_tensors = self._previous


# ---- what weights_only accepts -----------------------------------------------------------------------


def add_safe_globals(safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
    """Lets ``load(weights_only=True)`` use these classes and functions, or (object, name in the file) pairs."""
    restricted.user_globals |= set(safe_globals)


def get_safe_globals() -> list[Callable[..., Any] | tuple[Callable[..., Any], str]]:
    """What add_safe_globals() has declared safe."""
    return list(restricted.user_globals)


def clear_safe_globals() -> None:
    """Forgets what add_safe_globals() declared safe."""
    restricted.user_globals = set()


class safe_globals:
    """add_safe_globals() for the time of a ``with`` block."""

    def __init__(self, safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exception: object) -> None:
        restricted.user_globals -= set(self.safe_globals)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a file that ``load(weights_only=True)`` would refuse; nothing of it is run."""
    import io

    with reading(f) as file:
        if not is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = ZipReader(file)
        if archive.has("constants.pkl"):
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint"
            )
        names = restricted.globals_in(io.BytesIO(archive.read("data.pkl")))
    return list(names - set(restricted.allowed_by_default()) - set(restricted.user_allowed()))


# ---- save --------------------------------------------------------------------------------------------


def save(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes an object to a path or a file object. PyTorch can load what was saved.

    A path is written to at the end, all at once: when saving fails, what was there before still is.
    """
    if not _use_new_zipfile_serialization and loading.skip_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    if is_path(f) and not _use_new_zipfile_serialization and not os.path.isdir(os.path.dirname(f) or "."):
        raise FileNotFoundError(2, "No such file or directory", os.fspath(f))
    with writing(f) as file:
        if not _use_new_zipfile_serialization:
            save_legacy(obj, file, pickle_module, pickle_protocol)
            return
        save_zip(
            obj,
            file,
            archive_name(f),
            pickle_module,
            pickle_protocol,
            crc32=_options.crc32,
            alignment=_ALIGNMENT,
            skip_data=loading.skip_data,
            fresh=is_path(f),
            byte_order=not _disable_byteorder_record,
        )


# ---- load --------------------------------------------------------------------------------------------


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """What ``save`` (ours or PyTorch's) wrote to a path or a file object.

    ``map_location`` (a device, its name, a dict of names, or a function) says where storages go. ``mmap`` maps the file
    instead of reading it. ``weights_only=False`` runs whatever code the file asks for: only for files you trust.
    """
    weights_only = _weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    unpickling = None if weights_only else (pickle_module or pickle)
    pickle_load_args.setdefault("encoding", "utf-8")
    if is_path(f) and os.fspath(f).endswith(".safetensors"):
        return _load_safetensors(os.fspath(f), map_location)
    with reading(f) as file:
        before, loading.map_location = loading.map_location, map_location
        try:
            return _load(f, file, map_location, unpickling, bool(mmap), pickle_load_args)
        except pickle.UnpicklingError as error:
            if not weights_only:
                raise
            raise pickle.UnpicklingError(_explained(str(error))) from None
        finally:
            loading.map_location = before


def _load(
    f: Any, file: Any, map_location: Any, pickle_module: Any, mmap: bool, arguments: dict[str, Any]
) -> Any:
    if not is_zip(file):
        if mmap:
            name = f"{f}, " if isinstance(f, str) else ""
            raise RuntimeError(
                f"mmap can only be used with files saved with `torch.save({name}_use_new_zipfile_serialization="
                "True), please torch.save your checkpoint with this option in order to use mmap."
            )
        return load_legacy(file, map_location, pickle_module, skip_data=loading.skip_data, **arguments)
    archive = ZipReader(file)
    if archive.has("constants.pkl"):
        raise RuntimeError(
            "this file is a TorchScript archive, which holds code for PyTorch's interpreter and cannot be run here; "
            "load it with PyTorch's torch.jit.load and save its state_dict() with torch.save"
        )
    mapped = None
    if mmap:
        if not is_path(f):
            raise ValueError("f must be a file path in order to use the mmap argument")
        mapped = UntypedStorage.from_file(os.fspath(f), _options.mmap == MAP_SHARED, os.path.getsize(f))
    order = _options.load_endianness
    return load_zip(
        archive,
        map_location,
        pickle_module,
        load_endianness=None if order is None else order.name.lower(),
        skip_data=loading.skip_data,
        mapped=mapped,
        **arguments,
    )


def _weights_only(asked: bool | None, pickle_module: Any) -> bool:
    force, force_not = (
        os.getenv(f"TORCH_FORCE_{name}_LOAD", "0").lower() in _TRUE
        for name in ("WEIGHTS_ONLY", "NO_WEIGHTS_ONLY")
    )
    if force and force_not:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but "
            "both were set."
        )
    if force:
        return True
    if asked is None and force_not:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not "
            "explicitly passed to `torch.load`, forcing weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        return False
    return pickle_module is None if asked is None else asked


def _explained(message: str) -> str:
    """The restricted unpickler's message, with what the reader can do about it."""
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        message = (
            "Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those "
            f"steps only if you trust the source of the checkpoint\033[0m. \n\t(1) {_UNSAFE_MESSAGE}\n\t(2) "
            "Alternatively, to load with `weights_only=True` please check the recommended steps in the following "
            f"error message.\n\tWeightsUnpickler error: {message}"
        )
    elif "must be imported to load" in message:
        message = f"Weights only load failed. {message}"
    else:
        report = (
            ""
            if re.search(r"whose module (\S+) is blocked", message)
            else "Please file an issue with the following so that we can make `weights_only=True` compatible with "
            "your use case: WeightsUnpickler error: "
        )
        message = f"Weights only load failed. {_UNSAFE_MESSAGE}\n{report}\n\n{message}"
    return message + _DOCS_MESSAGE


def _load_safetensors(path: str, map_location: Any) -> Any:
    if map_location is not None and not isinstance(map_location, str) and not hasattr(map_location, "type"):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. Use a device string or "
            "torch.device instead."
        )
    return load_safetensors(path, "cpu" if map_location is None else map_location)


# What PyTorch calls them.
_open_file_like = open_file_like
_open_zipfile_reader = open_reader
_open_zipfile_writer = open_writer
_is_zipfile = is_zip
_serialization_tls = loading

__getattr__ = names_of(__name__)
